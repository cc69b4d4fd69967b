"""The form of an order: its fields, and the grid of its parts as tab-separated text."""

import json
from collections.abc import Mapping
from typing import Any

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django_stubs_ext import StrOrPromise
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

from kilit.csv.grid import rows_from_text, text_from_rows
from kilit.lock.priorities import Priority
from kilit.lock.text import strip_control_chars
from orchestrator.drafts.typed import COLUMNS, EMPTY, FIELDS, UNITS
from orchestrator.schemas.orders import plain
from orchestrator.schemas.rules import Rules
from orchestrator.states import Mode

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
    "edge_up": gettext_lazy("Edge top"),
    "edge_lo": gettext_lazy("Edge bottom"),
    "edge_sx": gettext_lazy("Edge left"),
    "edge_dx": gettext_lazy("Edge right"),
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


def text_field(
    label: StrOrPromise, *, help_text: StrOrPromise = "", longest: int | None = None, **attributes: str
) -> forms.CharField:
    widget = UnfoldAdminTextInputWidget(attrs={"autocomplete": "off", **attributes})
    return forms.CharField(label=label, required=False, help_text=help_text, max_length=longest, widget=widget)


class OrderForm(forms.Form):
    """Shows what was typed, however wrong; `orchestrator.drafts.typed` judges it."""

    order_id = text_field(gettext_lazy("Order id"))
    customer_phone = text_field(gettext_lazy("Customer's phone"), list="customer-phones", inputmode="tel")
    customer_snapshot_name = text_field(gettext_lazy("Customer's name"), list="customer-names")
    opti_mode = forms.ChoiceField(label=gettext_lazy("Mode"), required=False, widget=UnfoldAdminSelectWidget)
    plate_width = text_field(gettext_lazy("Plate width mm"), inputmode="decimal")
    plate_height = text_field(gettext_lazy("Plate height mm"), inputmode="decimal")
    priority = forms.ChoiceField(label=gettext_lazy("Priority"), required=False, widget=UnfoldAdminSelectWidget)
    revision = text_field(
        gettext_lazy("Revision"),
        inputmode="numeric",
        help_text=gettext_lazy("Only to have the same order cut again: 1, then 2, then 3."),
    )
    unit = forms.ChoiceField(
        label=gettext_lazy("Length and width in"),
        choices=[(unit, unit) for unit in UNITS],
        required=False,
        widget=UnfoldAdminSelectWidget,
    )

    def __init__(self, content: Mapping[str, Any], rules: Rules | None) -> None:
        super().__init__({"priority": "normal", "unit": content["unit"], **content["fields"]})
        by_rules = _("as in the rules: %(value)s") % {"value": rules.opti_mode_default if rules else "?"}
        fields: dict[str, Any] = self.fields
        fields["opti_mode"].choices = [("", by_rules), *Mode.choices]
        fields["priority"].choices = [(priority.api_name, priority.label) for priority in Priority]
        if rules and (plate := rules.default_plate_size):
            fields["plate_width"].widget.attrs["placeholder"] = plain(plate.width_mm)
            fields["plate_height"].widget.attrs["placeholder"] = plain(plate.height_mm)


def empty_content() -> dict[str, object]:
    return {"unit": "mm", "fields": {"priority": "normal"}, "rows": []}


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
