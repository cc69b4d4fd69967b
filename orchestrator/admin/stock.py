"""The store in the console: boards by kind, offcuts, counting by phone, labels. Only where the rules have a stock."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Any
from uuid import UUID

import segno
from django import forms
from django.contrib import admin, messages
from django.db import IntegrityError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.formats import number_format
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext_lazy
from django_stubs_ext import StrOrPromise
from unfold.widgets import UnfoldAdminIntegerFieldWidget

from kilit.console.admin.activity import ActivitySource, register_activity
from kilit.console.formatting import age, badge, column, find_object, joined, link, number, page
from kilit.console.jobs.timeline import Story
from kilit.console.lists.confirming import ReasonForm
from kilit.console.lists.fields import text_field
from kilit.console.lists.listing import ListAdmin, ListPage, ReadOnlyAdmin, RowList, RowPage
from kilit.lock.audit import for_reason
from kilit.lock.guard import MoveRefused
from kilit.lock.identity import uuid7
from kilit.lock.models import Event
from kilit.problems.registry import with_number
from orchestrator.admin.columns import JOBS_MENU
from orchestrator.models import BoardKind, Job, StockItem
from orchestrator.models.stock import IDENTITY
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

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


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


def _price(kind: BoardKind) -> str:
    return number_format(kind.price, decimal_pos=2, force_grouping=True) if kind.price is not None else ""


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
        column("board_price", gettext_lazy("price of a board"), _price, sort_key=lambda kind: kind.price or 0),
        column("rack", gettext_lazy("place"), lambda kind: kind.place),
    ]
    fields = ("place", "least", "price")
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


# Offcuts


class OffcutForm(forms.ModelForm):  # type: ignore[type-arg]
    new_id = forms.UUIDField(initial=uuid7, widget=forms.HiddenInput)  # so that a form that is sent twice adds one


class PlaceForm(forms.Form):
    place = text_field(gettext_lazy("Place"), 40)


def move_item(verb: str, model_admin: "StockItemAdmin", request: HttpRequest, item: StockItem) -> HttpResponse | None:
    if item.status not in STOCK.moves[verb].sources:
        messages.warning(request, _("Nothing was changed: it is in another state by now."))
        return None
    form = ReasonForm(request.POST if "reason" in request.POST else None, help_text="")
    if not form.is_valid():
        title = str(MOVES[verb])
        return model_admin.confirm(
            request, item, title=title, form=form, facts=_facts(item), submit=title, reasons_for=verb
        )
    try:
        with for_reason(form.cleaned_data["reason"]):
            if verb == "release":
                stock.release(item)
            else:
                item.move(verb, job=None)
    except MoveRefused:
        messages.warning(request, _("Nothing was changed: it is in another state by now."))
    except StockRefused as refused:
        messages.warning(request, str(refused))
    return None


def place_item(model_admin: "StockItemAdmin", request: HttpRequest, item: StockItem) -> HttpResponse | None:
    form = PlaceForm(request.POST if "place" in request.POST else None, initial={"place": item.place})
    if not form.is_valid():
        return model_admin.confirm(request, item, title=_("Place"), form=form, facts=_facts(item), submit=_("Save"))
    place = form.cleaned_data["place"]
    if StockItem.objects.filter(pk=item.pk).exclude(place=place).update(place=place):
        Event.objects.record(item, "PLACED", message=place)
    return None


def item_label(model_admin: "StockItemAdmin", request: HttpRequest, item: StockItem) -> HttpResponse:
    return labels_page(request, [label(item, request, model_admin.address("change", item.pk))])


def job_labels(model_admin: "StockItemAdmin", request: HttpRequest, job_id: UUID) -> HttpResponse:
    """Print the labels of what a job's plan leaves, also before it is cut."""
    job = Job.objects.filter(pk=job_id).only("planning").first()
    if job is None:
        raise Http404
    return labels_page(
        request, [label(item, request, model_admin.address("change", item.pk)) for item in offcuts_of(job)]
    )


def offcuts_of(job: Job) -> list[StockItem]:
    """Return the offcuts of a job's plan, whether it is cut by now or not."""
    planned = ((job.planning or {}).get("stock") or {}).get("offcuts", ())
    sizes = ("thickness_mm", "length_mm", "width_mm")
    return [
        StockItem(
            **{name: Decimal(value) if name in sizes else value for name, value in each.items()}
            | {"id": UUID(each["id"])}
        )
        for each in planned
    ]


MOVES = {
    "take_out": gettext_lazy("Take out"),
    "restore": gettext_lazy("It is there after all"),
    "put_back": gettext_lazy("Put back unused"),
    "release": gettext_lazy("Give back"),
}


def _facts(item: StockItem) -> list[tuple[str, object]]:
    def job_link(job: Job | None) -> object:
        return link(reverse("admin:orchestrator_job_change", args=[job.pk]), job.order_id) if job else ""

    facts: list[tuple[str, object]] = [
        (_("Material"), item.material),
        (_("Size"), f"{item.size} mm"),
        (_("Code"), item.code),
        (_("State"), state_badge(item)),
        (_("Place"), item.place),
        (_("Job"), job_link(item.job)),
        (_("Left by"), job_link(item.made_by)),
    ]
    return [fact for fact in facts if fact[1]]


class OffcutList(RowList):
    def get_queryset(self, *args: object, **options: object) -> Any:
        return super().get_queryset(*args, **options).filter(board=None)


@admin.register(StockItem)
class StockItemAdmin(StockAdmin, ReadOnlyAdmin):
    menu = JOBS_MENU.tab(4, gettext_lazy("Offcuts"))
    list_class = OffcutList
    list_select_related = ["job", "made_by"]
    list_display = [
        column("offcut", gettext_lazy("offcut"), lambda item: f"{item.words} mm"),
        column("code", gettext_lazy("code"), lambda item: item.code),
        column("state", gettext_lazy("state"), state_badge),
        column("rack", gettext_lazy("place"), lambda item: item.place),
        column("of_job", gettext_lazy("job"), lambda item: item.job.order_id if item.job else ""),
        age,
    ]
    form = OffcutForm
    fields = (*IDENTITY, "place", "new_id")
    list_pages = {"job_labels": ListPage(job_labels, route="labels/<uuid:job_id>")}
    row_pages = {
        **{verb: RowPage(partial(move_item, verb), "operate") for verb in MOVES},
        "place": RowPage(place_item, "operate"),
        "label": RowPage(item_label),
    }

    def add_view(self, request: HttpRequest, *args: Any, **options: Any) -> HttpResponse:
        try:
            response: HttpResponse = super().add_view(request, *args, **options)
        except IntegrityError:
            if not StockItem.objects.filter(pk=request.POST.get("new_id")).exists():
                raise
            messages.info(request, _("This offcut is in stock already: the form was sent twice."))
            return HttpResponseRedirect(self.address("changelist"))
        return response

    def save_model(self, request: HttpRequest, obj: StockItem, form: Any, change: bool) -> None:
        obj.pk = form.cleaned_data["new_id"]
        obj.save()

    def change_view(self, request: HttpRequest, object_id: str, *args: object, **options: object) -> HttpResponse:
        item = find_object(self, request, object_id)
        links: list[tuple[str, StrOrPromise]] = []
        if self.has_operate_permission(request):
            verbs = [verb for verb in MOVES if item.status in STOCK.moves[verb].sources]
            verbs = [verb for verb in verbs if verb != "release" or stock.can_be_released(item)]
            links = [(self.address(verb, item.pk), MOVES[verb]) for verb in verbs]
            links.append((self.address("place", item.pk), _("Place")))
        return page(
            self,
            request,
            "admin/orchestrator/stock_item.html",
            title=str(item),
            is_own_page=True,
            original=item,
            facts=_facts(item),
            links=[*links, (self.address("label", item.pk), _("Label"))],
            timeline=STORY.steps(Event.objects.of(item), labels=STOCK.labels),
        )


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
        "missing": sum(each["number"] for each in planned["missing"]),
        "offcuts": len(planned["offcuts"]),
    }
