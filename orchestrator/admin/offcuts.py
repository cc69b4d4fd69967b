"""Offcuts in the console: found by state, material and code, moved with a reason, with labels."""

from decimal import Decimal
from functools import partial
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import admin, messages
from django.db import IntegrityError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django_stubs_ext import StrOrPromise

from kilit.batches.filters import ChoiceFilter, FilterSet, state_filter
from kilit.batches.search import PrefixSearch, by
from kilit.console.formatting import age, column, find_object, link, page
from kilit.console.lists.confirming import ReasonForm
from kilit.console.lists.fields import text_field
from kilit.console.lists.listing import ListPage, ReadOnlyAdmin, RowList, RowPage
from kilit.lock.audit import for_reason
from kilit.lock.guard import MoveRefused
from kilit.lock.identity import uuid7
from kilit.lock.models import Event
from orchestrator.admin.columns import JOBS_MENU
from orchestrator.admin.stock import STORY, StockAdmin, StockForm, label, labels_page, state_badge
from orchestrator.models import BoardKind, Job, StockItem
from orchestrator.models.stock import IDENTITY, code_of
from orchestrator.states import STOCK
from orchestrator.workflow import stock
from orchestrator.workflow.stock import StockRefused

SEARCH = PrefixSearch((by("code"), by("material_code"), by("color")))


def materials(_user: object) -> list[tuple[str, str]]:
    codes = BoardKind.objects.order_by("material_code").values_list("material_code", flat=True).distinct()
    return [(code, code) for code in codes]


# Boards of a kind are rows of the same table, and far more.
FILTERS = FilterSet(
    (
        state_filter(STOCK),
        ChoiceFilter(name="material", title=gettext_lazy("material"), column="material_code", choices=materials),
    ),
    search=lambda rows, text: SEARCH(rows.filter(board=None), text),
)


class OffcutForm(StockForm):
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
            | {"id": UUID(each["id"]), "code": code_of(each["id"])}
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
    filters = FILTERS
    search_help_text = gettext_lazy("Code, material or colour: the first letters are enough")
    is_searched = True  # by Ctrl+K
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

    def describe_result(self, row: StockItem) -> tuple[str, ...]:
        return row.code, f"{row.words} mm", str(STOCK.labels[row.status])

    def add_view(self, request: HttpRequest, *args: Any, **options: Any) -> HttpResponse:
        try:
            response: HttpResponse = super().add_view(request, *args, **options)
        except IntegrityError:
            if not StockItem.objects.filter(pk=request.POST.get("new_id", "")).exists():
                raise
            messages.info(request, _("This offcut is in stock already: the form was sent twice."))
            return HttpResponseRedirect(self.address("changelist"))
        return response

    def save_model(self, request: HttpRequest, obj: StockItem, form: Any, change: bool) -> None:
        obj.pk = form.cleaned_data["new_id"]
        super().save_model(request, obj, form, change)

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
