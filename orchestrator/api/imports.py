"""The endpoints for orders from sheets."""

import hashlib
from dataclasses import asdict
from functools import partial
from typing import ClassVar, cast

from django.db import transaction
from django.http import HttpResponse
from rest_framework.request import Request
from rest_framework.response import Response

from kilit.access.key_scopes import KeyScope
from kilit.api.input_model import FieldError
from kilit.api.openapi import ApiResponse, endpoint
from kilit.api.parsers import MultiPartParser
from orchestrator.api.jobs import INVALID_ORDER, NO_RULES, CuttingView, download, job_stored, present_similar
from orchestrator.models import Job
from orchestrator.orders.enqueue import enqueue, similar_jobs, store_order_file
from orchestrator.orders.order import canonical, read_order
from orchestrator.planning.saws import refuse_uncuttable
from orchestrator.schemas.jobs import ImportPreview, JobStored, OrderImport, TemplateQuery
from orchestrator.schemas.orders import InvalidOrder, Order
from orchestrator.schemas.rules import Rules
from orchestrator.sheets import template
from orchestrator.sheets.reading import locate, read_sheet
from orchestrator.sheets.sheet_order import CellFault, SheetDefaults, SheetError, SheetOrder
from orchestrator.workflow import decisions

TEMPLATES = {
    "xlsx": (template.XLSX, template.template_xlsx),
    "csv": ("text/csv; charset=utf-8", template.template_csv),
}
GIVEN = SheetDefaults.__dataclass_fields__


class ImportView(CuttingView):
    parser_classes = (MultiPartParser,)
    errors: ClassVar = {
        **CuttingView.errors,
        400: {"BAD_REQUEST": "The address contains a NUL character, or the body is not a form."},
        415: {"UNSUPPORTED_MEDIA_TYPE": "The body is not multipart/form-data."},
    }

    @endpoint(
        responses={
            200: ApiResponse("The order was sent before; of a dry run, the order.", JobStored | ImportPreview),
            201: ApiResponse("The new job.", JobStored),
        },
        body=OrderImport,
        scope=KeyScope.ENQUEUE,
        reads=False,
        errors={**INVALID_ORDER, **NO_RULES},
    )
    def post(self, request: Request) -> Response:
        """Send an order as a sheet.

        The template or a customer's list, as XLSX or CSV. `faults` name the cells. The same order is the same job, as
        with `POST /jobs`; the file is kept with it. `similar_to` names jobs with the same parts, from the same
        file, or with the same order id and phone.
        """
        fields = cast("dict[str, object]", request.data)  # the parser returns nothing else
        form = OrderImport.read({name: value for name, value in fields.items() if value != ""})
        rules = decisions.require_rules()
        content = form.file.read()
        sheet = _read(form, content, rules)
        try:
            order = read_order(sheet.order, default_mode=rules.opti_mode_default)
            similar = similar_jobs(
                order, mode_is_given="opti_mode" in sheet.order, sheet=hashlib.sha256(content).hexdigest()
            )
            if form.dry_run:
                refuse_uncuttable(order, rules)
                sources = [asdict(source) for source in sheet.sources]
                read = {"layout": sheet.layout, "sheet": sheet.sheet, "cells": sheet.cells, "sources": sources}
                return Response({**read, "order": canonical(order), "similar_to": present_similar(similar)})
            job, is_known = _store(sheet, order, rules, form.file.name, content)
        except InvalidOrder as error:  # a part is larger than the plate
            raise _refusal(locate(sheet, error.errors), error.count) from None
        return job_stored(job, similar, is_known=is_known)


class TemplateView(CuttingView):
    @endpoint(
        ApiResponse(
            "The template.",
            media={
                template.XLSX: {"type": "string", "format": "binary"},
                "text/csv": {"type": "string"},
            },
            headers={"Content-Disposition": "The file's name."},
        ),
        query=TemplateQuery,
    )
    def get(self, request: Request, query: TemplateQuery) -> HttpResponse:
        """Download the template for orders.

        With headings in Turkish and English, and an example to replace.
        """
        content_type, make = TEMPLATES[query.format]
        return download(f"siparis-sablonu.{query.format}", make(), content_type)


def _read(form: OrderImport, content: bytes, rules: Rules) -> SheetOrder:
    defaults = {name: value for name in GIVEN if (value := getattr(form, name)) is not None}
    try:
        sheet = read_sheet(form.file.name, content, rules, defaults=SheetDefaults(**defaults), sheet=form.sheet or "")
    except SheetError as error:
        raise _refusal([CellFault("", "file", str(error))], 1) from None
    if sheet.faults:
        raise _refusal(sheet.faults, len(sheet.faults) + sheet.faults_beyond)
    return sheet


def _store(sheet: SheetOrder, order: Order, rules: Rules, name: str, content: bytes) -> tuple[Job, bool]:
    with transaction.atomic():
        is_given = "opti_mode" in sheet.order
        job, is_known = enqueue(order, mode_is_given=is_given, check=partial(refuse_uncuttable, rules=rules))
        store_order_file(job, name, content, layout=sheet.layout)
    return job, is_known


def _refusal(faults: list[CellFault], count: int) -> InvalidOrder:
    return InvalidOrder([_field_error(fault) for fault in faults], count)


def _field_error(fault: CellFault) -> FieldError:
    name = fault.field.rpartition(".")[2]
    name = "part" if name.isdecimal() else name  # as in `parts.3`
    return {"field": f"{fault.cell} {name}".strip(), "message": fault.message}
