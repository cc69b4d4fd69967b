"""Importing a sheet: a file becomes a draft, with its faults and what was taken from where."""

from decimal import Decimal
from typing import Any

from django import forms
from django.contrib import messages
from django.core.files.uploadedfile import UploadedFile
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.admin import ModelAdmin
from unfold.widgets import UnfoldAdminFileFieldWidget, UnfoldAdminSelectWidget

from kilit.console.formatting import page
from kilit.csv.numbers import read_number
from kilit.lock.identity import uuid7
from orchestrator.admin.order_form import LABELS, OrderForm, text_field
from orchestrator.drafts.imported import content_of, upload_of
from orchestrator.drafts.sending import DraftChanged, save_draft
from orchestrator.drafts.suggestions import suggest
from orchestrator.drafts.typed import CELLS
from orchestrator.errors import JobError
from orchestrator.models import OrderDraft
from orchestrator.planning.rules import current_rules
from orchestrator.schemas.rules import Rules
from orchestrator.sheets.reading import read_sheet
from orchestrator.sheets.sheet_order import Origin, SheetDefaults, SheetError, SheetOrder

MEGABYTES = 5
ORIGINS = {
    Origin.CELL: gettext_lazy("cell %(cell)s"),
    Origin.FILE: gettext_lazy("the file"),
    Origin.FILE_NAME: gettext_lazy("the file's name"),
    Origin.CALLER: gettext_lazy("your entry"),
    Origin.RULES: gettext_lazy("the rules"),
    Origin.DEFAULT: gettext_lazy("not in the sheet"),
}


class SheetForm(forms.Form):
    file = forms.FileField(
        label=gettext_lazy("Sheet (XLSX or CSV)"),
        widget=UnfoldAdminFileFieldWidget(attrs={"accept": ".xlsx,.csv,.txt"}),
        error_messages={"empty": gettext_lazy("The file is empty.")},
    )
    sheet = forms.ChoiceField(label=gettext_lazy("Which sheet"), required=False, widget=UnfoldAdminSelectWidget)
    material_code = text_field(gettext_lazy("Material"), longest=100, list="materials")
    color = text_field(gettext_lazy("Colour"), longest=100, list="colours")
    thickness_mm = text_field(gettext_lazy("Thickness mm"), longest=100, list="thicknesses", inputmode="decimal")
    edge = text_field(gettext_lazy("Edge band of marked edges"), longest=100, list="edges")

    def __init__(self, data: Any = None, files: Any = None, *, sheets: tuple[str, ...] = ()) -> None:
        super().__init__(data, files)
        fields: dict[str, Any] = self.fields
        # Which sheets a file has is known once it is read.
        names = sheets or tuple(filter(None, [(data or {}).get("sheet", "")]))
        fields["sheet"].choices = [("", "–"), *((name, name) for name in names)]
        if not names:
            del fields["sheet"]

    def clean_file(self) -> UploadedFile[bytes]:
        file: UploadedFile[bytes] = self.cleaned_data["file"]
        if (file.size or 0) > MEGABYTES * 1024**2:
            raise forms.ValidationError(_("Larger than %(most)s MB.") % {"most": MEGABYTES})
        return file

    def clean_thickness_mm(self) -> Decimal | None:
        typed = self.cleaned_data["thickness_mm"]
        try:
            return read_number(typed) if typed else None
        except ValueError as error:
            raise forms.ValidationError(str(error)) from None

    def read(self, content: bytes, rules: Rules) -> SheetOrder:
        defaults = {name: self.cleaned_data[name] for name in ("material_code", "color", "thickness_mm", "edge")}
        name = self.cleaned_data["file"].name
        return read_sheet(
            name, content, rules, defaults=SheetDefaults(**defaults), sheet=self.cleaned_data.get("sheet", "")
        )


def import_page(model_admin: ModelAdmin, request: HttpRequest) -> HttpResponse:
    replaced = _replaced(model_admin, request)
    form = SheetForm(request.POST or None, request.FILES or None)
    rules = None
    try:
        rules = current_rules()
        if form.is_valid():
            return _import(model_admin, request, form, rules, replaced)
    except SheetError as error:
        form = SheetForm(request.POST, request.FILES, sheets=error.sheets)
        form.add_error("sheet" if error.sheets else "file", str(error))
    except JobError:
        form.add_error(None, _("The cutting rules cannot be read."))
    except DraftChanged:
        messages.error(request, _("This draft was sent meanwhile. Import the sheet as a new order."))
        return HttpResponseRedirect(model_admin.address("changelist"))
    return page(
        model_admin,
        request,
        "admin/orchestrator/order_import.html",
        title=_("Import a sheet"),
        form=form,
        draft=replaced,
        suggestions=suggest(rules),
        megabytes=MEGABYTES,
    )


def _replaced(model_admin: ModelAdmin, request: HttpRequest) -> OrderDraft | None:
    if not (text := request.GET.get("draft")):
        return None
    draft = OrderDraft.objects.unsent().filter(pk=model_admin.read_id(text)).defer("file_content").first()
    if draft is None:
        raise Http404
    return draft


def _import(
    model_admin: ModelAdmin, request: HttpRequest, form: SheetForm, rules: Rules, replaced: OrderDraft | None
) -> HttpResponse:
    file = form.cleaned_data["file"]
    content = file.read()
    sheet = form.read(content, rules)
    upload = upload_of(sheet, file.name, content)
    typed = content_of(sheet, rules, replacing=replaced.content if replaced else None)
    pk = replaced.pk if replaced else uuid7()
    with transaction.atomic():
        draft, is_new = save_draft(pk, typed, based_on=replaced.updated_at if replaced else None, upload=upload)
        if is_new:
            model_admin.log_addition(request, draft, [{"added": {}}])
        else:
            model_admin.log_change(request, draft, [{"changed": {"fields": [upload["file_name"]]}}])
    return HttpResponseRedirect(f"{model_admin.address('change', pk)}?checked=1#order-check")


def source_rows(draft: OrderDraft) -> list[dict[str, str]]:
    return [
        {
            "label": _label(source["field"]),
            "value": source["value"],
            "origin": str(ORIGINS[Origin(source["origin"])]) % {"cell": source["cell"]},
            "note": source["note"],
        }
        for source in draft.sources
    ]


def _label(field: str) -> str:
    name = CELLS.get(field, field)
    if name in LABELS:
        return str(LABELS[name])
    if name in OrderForm.base_fields:
        return str(OrderForm.base_fields[name].label)
    labels = {
        "not read": _("Not read"),
        "plate_size": _("Plate"),
        "file": _("File"),
        "sheet": _("Sheet"),
        "edge": _("Edge band"),
    }
    return labels.get(name, name)
