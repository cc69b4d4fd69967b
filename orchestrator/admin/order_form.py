"""The form of an order: its fields, the grid of its parts as tab-separated text, and a sheet that fills it."""

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from django import forms
from django.contrib import messages
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django_stubs_ext import StrOrPromise
from unfold.admin import ModelAdmin

from kilit.console.formatting import page
from kilit.console.lists.fields import DayInput, UploadField, choice_field, text_field
from kilit.csv.grid import rows_from_text, text_from_rows
from kilit.csv.numbers import read_number
from kilit.lock.identity import uuid7
from kilit.lock.priorities import Priority
from kilit.lock.text import strip_control_chars
from orchestrator.drafts.imported import content_of, upload_of
from orchestrator.drafts.sending import DraftChanged, save_draft
from orchestrator.drafts.suggestions import suggest
from orchestrator.drafts.typed import CELLS, COLUMNS, EMPTY, FIELDS, UNITS
from orchestrator.errors import JobError
from orchestrator.models import OrderDraft
from orchestrator.planning.plan import SIDES
from orchestrator.planning.rules import current_rules, offered_modes
from orchestrator.schemas.orders import plain
from orchestrator.schemas.rules import Rules
from orchestrator.sheets.reading import read_sheet
from orchestrator.sheets.sheet_order import Origin, SheetDefaults, SheetError, SheetOrder

LONGEST_FIELD = 500
LABELS = {
    "material_code": gettext_lazy("Material"),
    "color": gettext_lazy("Colour"),
    "thickness_mm": gettext_lazy("Thickness mm"),
    "part_type": gettext_lazy("Type"),
    "length": gettext_lazy("Length"),
    "width": gettext_lazy("Width"),
    "quantity": gettext_lazy("Pieces"),
    "grain": gettext_lazy("Grain"),
    **SIDES,
    "iidesc": gettext_lazy("Drill code"),
    "desc1": gettext_lazy("Note"),
    "id": gettext_lazy("Part id"),
}
LISTS = {
    "material_code": "materials",
    "color": "colours",
    "thickness_mm": "thicknesses",
    "part_type": "part-types",
    **{name: "edges" for name in COLUMNS if name.startswith("edge_")},
}
DECIMALS = ("thickness_mm", "length", "width")
WHOLE = ("quantity", "grain")
TYPES = (gettext_lazy("Gövde"), gettext_lazy("Arkalık"))
EMPTY_CONTENT: dict[str, object] = {"unit": "mm", "fields": {"priority": "normal"}, "rows": []}


def _text(label: StrOrPromise, longest: int | None = None, **attributes: str) -> forms.CharField:
    return text_field(label, longest, required=False, attrs=attributes)


class OrderForm(forms.Form):
    """Shows what was typed, however wrong; `orchestrator.drafts.typed` judges it."""

    order_id = _text(gettext_lazy("Order id"))
    customer_phone = _text(gettext_lazy("Customer's phone"), list="customer-phones", inputmode="tel")
    customer_snapshot_name = _text(gettext_lazy("Customer's name"), list="customer-names")
    opti_mode = choice_field(gettext_lazy("Mode"), required=False)
    plate_width = _text(gettext_lazy("Plate width mm"), inputmode="decimal")
    plate_height = _text(gettext_lazy("Plate height mm"), inputmode="decimal")
    priority = choice_field(gettext_lazy("Priority"), required=False)
    due_on = text_field(gettext_lazy("Due date"), required=False, widget=DayInput)
    saw = choice_field(gettext_lazy("Saw"), required=False)
    revision = text_field(
        gettext_lazy("Revision"),
        required=False,
        attrs={"inputmode": "numeric"},
        help_text=gettext_lazy("Only to have the same order cut again: 1, then 2, then 3."),
    )
    unit = choice_field(gettext_lazy("Length and width in"), [(unit, unit) for unit in UNITS], required=False)

    def __init__(self, content: Mapping[str, Any], rules: Rules | None) -> None:
        super().__init__({"priority": "normal", "unit": content["unit"], **content["fields"]})
        by_rules = _("as in the rules: %(value)s") % {"value": rules.opti_mode_default if rules else "?"}
        fields: dict[str, Any] = self.fields
        fields["opti_mode"].choices = [("", by_rules), *offered_modes()]
        fields["priority"].choices = [(priority.api_name, priority.label) for priority in Priority]
        names = [saw.name for saw in rules.saws] if rules else []
        fields["saw"].choices = [("", _("the first that fits")), *((name, name) for name in names)]
        if not names and not content["fields"].get("saw"):
            del fields["saw"]
        if rules and (plate := rules.default_plate_size):
            fields["plate_width"].widget.attrs["placeholder"] = plain(plate.width_mm)
            fields["plate_height"].widget.attrs["placeholder"] = plain(plate.height_mm)


def posted_content(posted: QueryDict) -> dict[str, object]:
    """Return what was typed, made storable; nothing is judged here."""
    fields = {name: strip_control_chars(posted.get(name, ""))[:LONGEST_FIELD] for name in FIELDS}
    unit = posted.get("unit", "")
    return {
        "unit": unit if unit in UNITS else "mm",
        "fields": fields,
        "rows": rows_from_text(strip_control_chars(posted.get("rows", "")), COLUMNS),
    }


def grid(content: Mapping[str, Any], rules: Rules | None) -> dict[str, Any]:
    columns = [
        {
            "name": name,
            "label": str(LABELS[name]),
            "list": LISTS.get(name, ""),
            "mode": "decimal" if name in DECIMALS else "numeric" if name in WHOLE else "text",
            "placeholder": str(TYPES[0]) if name == "part_type" else EMPTY.get(name, ""),
        }
        for name in COLUMNS
    ]
    no_edges = [name for name, mapped in rules.edge_mapping.items() if mapped is None] if rules else []
    rows = text_from_rows(content["rows"], COLUMNS)
    return {
        "grid": {"name": "order", "rows": rows, "columns": columns, "columns_json": json.dumps(columns)},
        "no_edges": json.dumps(no_edges),
    }


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
    file = UploadField(
        gettext_lazy("Sheet (XLSX or CSV)"),
        accept=".xlsx,.csv,.txt",
        megabytes=MEGABYTES,
        too_large=gettext_lazy("Larger than %(most)s MB."),
    )
    sheet = choice_field(gettext_lazy("Which sheet"), required=False)
    material_code = _text(gettext_lazy("Material"), 100, list="materials")
    color = _text(gettext_lazy("Colour"), 100, list="colours")
    thickness_mm = _text(gettext_lazy("Thickness mm"), 100, list="thicknesses", inputmode="decimal")
    edge = _text(gettext_lazy("Edge band of marked edges"), 100, list="edges")

    def __init__(self, data: Any = None, files: Any = None, *, sheets: tuple[str, ...] = ()) -> None:
        super().__init__(data, files)
        fields: dict[str, Any] = self.fields
        # Which sheets a file has is known once it is read.
        names = sheets or tuple(filter(None, [(data or {}).get("sheet", "")]))
        fields["sheet"].choices = [("", "–"), *((name, name) for name in names)]
        if not names:
            del fields["sheet"]

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
