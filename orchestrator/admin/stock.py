"""The store in the console: boards by kind, offcuts, counting by phone, labels. Only where the rules have a stock."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import segno
from django import forms
from django.contrib import admin, messages
from django.db.models import Value
from django.db.models.lookups import Exact
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext_lazy
from django_stubs_ext import StrOrPromise
from unfold.widgets import UnfoldAdminIntegerFieldWidget, UnfoldAdminTextInputWidget

from kilit.console.admin.activity import ActivitySource, register_activity
from kilit.console.formatting import badge, column, joined, link, number
from kilit.console.jobs.timeline import Story
from kilit.console.lists.confirming import ReasonForm
from kilit.console.lists.listing import ListAdmin, RowPage
from kilit.csv.numbers import read_number
from kilit.lock.audit import for_reason
from kilit.lock.folding import Fold, FoldedColumn
from kilit.problems.registry import with_number
from orchestrator.admin.columns import JOBS_MENU
from orchestrator.models import BoardKind, Job, StockItem
from orchestrator.models.stock import IDENTITY, SIZES
from orchestrator.planning.rules import has_stock
from orchestrator.states import STOCK, StockState
from orchestrator.workflow import stock
from orchestrator.workflow.stock import MOST_AT_ONCE, StockRefused

COLOURS = {StockState.AVAILABLE: "success", StockState.RESERVED: "info", StockState.SCRAPPED: "warning"}
MOST_NAMED = 20  # rows of a kind, on the page of a job
STORY = Story(
    {
        "JOB_CREATED": gettext_lazy("Put into stock by %(who)s"),
        "reserve": gettext_lazy("Reserved for a job"),
        "give_back": gettext_lazy("Given back by its job"),
        "book": gettext_lazy("Cut"),
        "use": gettext_lazy("Cut"),
        "take_out": gettext_lazy("Taken out by %(who)s"),
        "restore": gettext_lazy("Put back into stock by %(who)s"),
        "put_back": gettext_lazy("Put back unused by %(who)s"),
        "release": gettext_lazy("Given back by %(who)s"),
        "PLACED": gettext_lazy("Put in another place by %(who)s"),
    }
)
register_activity(
    STOCK.queue,
    ActivitySource(
        gettext_lazy("Stock"), STORY, lambda row: reverse("admin:orchestrator_stockitem_change", args=[row.object_id])
    ),
)


def state_badge(item: StockItem) -> SafeString:
    return badge(str(STOCK.labels[item.status]), COLOURS.get(item.status, ""), title=item.status)  # type: ignore[call-overload]


def label(row: BoardKind | StockItem, request: HttpRequest, address: str) -> dict[str, object]:
    code = segno.make(request.build_absolute_uri(address), error="m")
    image = code.svg_inline(border=1, svgclass=None, omitsize=True)
    return {"row": row, "qr": mark_safe(image)}  # noqa: S308 - segno's


def labels_page(request: HttpRequest, labels: Iterable[dict[str, object]]) -> HttpResponse:
    return render(request, "admin/orchestrator/stock_labels.html", {"labels": list(labels)})


class StockAdmin(ListAdmin):
    """Nobody sees a page of the store while the rules have no stock."""

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return has_stock() and super().has_view_permission(request, obj)

    def has_operate_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return has_stock() and request.user.has_perm(f"orchestrator.operate_{self.opts.model_name}")

    has_add_permission = has_operate_permission

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        alike = BoardKind.objects.exclude(material_code=obj.material_code, color=obj.color)
        for name in ("material_code", "color"):
            alike = alike.filter(Exact(FoldedColumn(name), Fold(Value(getattr(obj, name)))))
        if other := alike.first():
            text = _("There is %(other)s, too, which differs in its letters only: orders match one of them, not both.")
            messages.warning(request, text % {"other": other.material})

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class SizeField(forms.DecimalField):
    """A size as people type it, with a comma or a point for the decimals."""

    def __init__(self, **options: Any) -> None:
        widget = UnfoldAdminTextInputWidget(attrs={"inputmode": "decimal", "autocomplete": "off"})
        super().__init__(**{**options, "widget": widget})

    def to_python(self, value: Any) -> Any:
        try:
            return read_number(value) if value else None
        except ValueError as error:
            raise forms.ValidationError(str(error)) from None


class StockForm(forms.ModelForm):  # type: ignore[type-arg]
    class Meta:
        field_classes = dict.fromkeys(SIZES, SizeField)


# Boards


@dataclass(frozen=True)
class NumberChange:
    """What somebody says about a number of boards."""

    title: StrOrPromise
    label: StrOrPromise
    needs_reason: bool = False


COUNT = NumberChange(gettext_lazy("Count"), gettext_lazy("So many there are"))
RECEIVE = NumberChange(gettext_lazy("Boards came"), gettext_lazy("So many came"))
TAKE_OUT = NumberChange(gettext_lazy("Take out"), gettext_lazy("So many are gone"), needs_reason=True)

CAME = ngettext_lazy("%(number)s board came.", "%(number)s boards came.", "count")
TAKEN = ngettext_lazy("%(number)s board was taken out.", "%(number)s boards were taken out.", "count")


class NumberForm(ReasonForm):
    number = forms.IntegerField(
        min_value=0, max_value=MOST_AT_ONCE, widget=UnfoldAdminIntegerFieldWidget(attrs={"inputmode": "numeric"})
    )
    expected = forms.IntegerField(
        required=False, widget=forms.HiddenInput
    )  # so that a form that is sent twice counts once

    field_order = ("number", "reason", "expected")

    def __init__(self, change: NumberChange, *args: Any, **options: Any) -> None:
        super().__init__(*args, help_text="", **options)
        self.fields["number"].label = change.label
        self.fields["reason"].required = change.needs_reason


def say_number(
    change: NumberChange, model_admin: "BoardKindAdmin", request: HttpRequest, row: Any
) -> HttpResponse | None:
    kind = BoardKind.objects.with_numbers().get(pk=row.pk)
    on_hand = kind.available + kind.reserved
    form = NumberForm(change, request.POST if "number" in request.POST else None, initial={"expected": on_hand})
    if form.is_valid():
        try:
            with for_reason(form.cleaned_data["reason"]):
                messages.success(request, _said(change, kind, form.cleaned_data))
        except StockRefused as refused:
            form.add_error(None, str(refused))
            form.data = {**form.data.dict(), "expected": on_hand}  # type: ignore[attr-defined]
        else:
            return None
    facts = [(_("On hand"), number(on_hand)), (_("Reserved"), number(kind.reserved)), (_("Place"), kind.place)]
    facts = [fact for fact in facts if fact[1]]
    title = f"{change.title}: {kind}"
    return model_admin.confirm(request, row, title=title, form=form, facts=facts, submit=_("Save"))


def _said(change: NumberChange, kind: BoardKind, said: dict[str, Any]) -> str:
    boards, expected = said["number"], said["expected"] or 0
    if change is RECEIVE:
        stock.receive(kind, boards, expected=expected)
        return with_number(CAME, boards)
    if change is TAKE_OUT:
        stock.take_out(kind, boards, expected=expected)
        return with_number(TAKEN, boards)
    more = stock.count(kind, boards, expected=expected)
    if not more:
        return _("Counted %(number)s, as expected.") % {"number": number(boards)}
    return _("Counted %(number)s: %(difference)s than expected.") % {
        "number": number(boards),
        "difference": (_("%(number)s more") if more > 0 else _("%(number)s fewer")) % {"number": number(abs(more))},
    }


def kind_label(model_admin: "BoardKindAdmin", request: HttpRequest, row: BoardKind) -> HttpResponse:
    return labels_page(request, [label(row, request, model_admin.address("count", row.pk))])


def _available(kind: Any) -> SafeString | str:
    text = number(kind.available)
    return badge(text, "warning", title=_("below the least number")) if kind.available < kind.least else text


@admin.register(BoardKind)
class BoardKindAdmin(StockAdmin):
    menu = JOBS_MENU.tab(3, gettext_lazy("Stock"))
    actions = None
    ordering = ["material_code", "color", "thickness_mm", "length_mm", "id"]
    list_display = [
        column("kind", gettext_lazy("board"), lambda kind: f"{kind.words} mm"),
        column("available", gettext_lazy("available"), _available, sort_key=lambda kind: kind.available),
        column(
            "reserved",
            gettext_lazy("reserved"),
            lambda kind: number(kind.reserved),
            sort_key=lambda kind: kind.reserved,
        ),
        column(
            "least_number",
            gettext_lazy("least number"),
            lambda kind: number(kind.least),
            sort_key=lambda kind: kind.least,
        ),
        column("rack", gettext_lazy("place"), lambda kind: kind.place),
    ]
    form = StockForm
    fields = ("place", "least")
    row_pages = {
        "count": RowPage(partial(say_number, COUNT), "operate"),
        "receive": RowPage(partial(say_number, RECEIVE), "operate"),
        "take_out": RowPage(partial(say_number, TAKE_OUT), "operate"),
        "label": RowPage(kind_label),
    }
    readonly_fields = ("numbers",)
    has_change_permission = StockAdmin.has_operate_permission

    def get_queryset(self, request: HttpRequest) -> Any:
        return BoardKind.objects.with_numbers()

    @admin.display(description=gettext_lazy("on hand"))
    def numbers(self, kind: Any) -> SafeString:
        text = _("%(available)s available, %(reserved)s reserved")
        names = (
            ("count", COUNT.title),
            ("receive", RECEIVE.title),
            ("take_out", TAKE_OUT.title),
            ("label", _("Label")),
        )
        links = [link(self.address(name, kind.pk), str(title)) for name, title in names]
        return joined(text % {"available": number(kind.available), "reserved": number(kind.reserved)}, *links)

    def get_fields(self, request: HttpRequest, obj: BoardKind | None = None) -> Sequence[str]:
        """A kind stays what it is: boards refer to it."""
        return ("numbers", *self.fields) if obj else (*IDENTITY, *self.fields)


def stock_card(job: Job) -> dict[str, object] | None:
    """Return what a job's plan takes from the store and leaves there, for its page."""
    planned = (job.planning or {}).get("stock")
    if not planned or not has_stock():
        return None
    groups: dict[str, list[StockItem]] = {}
    for item in job.stock.order_by("board", "id"):
        groups.setdefault(
            str(_("%(item)s mm") if item.board_id else _("offcut %(item)s mm")) % {"item": item.words}, []
        ).append(item)
    return {
        "job": job.pk,
        # Offcuts have to be found; of boards of a kind any will do.
        "taken": [(name, len(items), items if len(items) <= MOST_NAMED else []) for name, items in groups.items()],
        "missing": _missing(planned["missing"]),
        "offcuts": len(planned["offcuts"]),
    }


def _missing(boards: list[dict[str, int]]) -> list[tuple[str, int]]:
    kinds = BoardKind.objects.in_bulk([each["board"] for each in boards])
    return [(kinds[each["board"]].words, each["number"]) for each in boards if each["board"] in kinds]
