"""Acting on everything a list's filters match: the offer over the list, and the page that asks for confirmation."""

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.db import transaction
from django.db.models import Count
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from unfold.admin import ModelAdmin
from unfold.widgets import UnfoldAdminTextInputWidget

from kilit.batches.filters import UnusableFilters
from kilit.batches.models import MOST_WITHOUT_COUNT, BulkAction
from kilit.batches.operations import OperationUnavailable, Skip
from kilit.batches.run import ENGINE, MOST_LOOKED_AT, DryRun, count_matching, plan, plan_now, skips_from_json
from kilit.console.formatting import number as grouped
from kilit.console.lists.actions import Action
from kilit.console.lists.confirming import ReasonForm, confirm_page
from kilit.lock.models import ErrorGroup
from kilit.machine_errors import explain
from kilit.masking import mask_personal_data
from kilit.problems.links import list_path, page_path
from kilit.workers import doorbells

# How a list is paged and sorted does not change which rows it shows.
PAGING = {"p", "o", "e", "all", "after", "before"}
LAST_ACTION = "kilit_last_action"  # in the session
FOLLOWED_FOR = 600  # seconds
MOST_FOLLOWED = 500


def bulk_offers(model_admin: ModelAdmin, request: HttpRequest) -> list[dict[str, str]]:
    """Return what applies to all rows that match, once a filter is set."""
    if not model_admin.has_operate_permission(request):
        return []
    try:
        filters = _filters_of(model_admin, request)
    except UnusableFilters:
        return []
    return [
        {"label": action.short_description, "address": bulk_address(model_admin, action, filters)}
        for action in actions_for(model_admin, filters)
    ]


def actions_for(model_admin: ModelAdmin, filters: Mapping[str, str]) -> list[Action]:
    state, code = filters.get("status"), _code_of(model_admin, filters)
    return [
        action
        for action in model_admin.actions
        if (state is None or state in action.sources) and model_admin.queue.helps(action.operation, code)
    ]


def _code_of(model_admin: ModelAdmin, filters: Mapping[str, str]) -> str:
    if group := filters.get("group"):
        groups = ErrorGroup.objects.largest(queue=model_admin.queue.table.queue, group=group, limit=1)
        return groups[0].code if groups else ""
    return filters.get("code", "")


def _filters_of(model_admin: ModelAdmin, request: HttpRequest) -> dict[str, str]:
    values = {name: request.GET[name] for name in request.GET if name not in PAGING}
    filters: dict[str, str] = model_admin.filters.validate(values, request.user)
    return filters


def act_on_all(model_admin: ModelAdmin, request: HttpRequest, name: str) -> HttpResponse:
    """Show what an action would do to all that match, ask for a reason and the number, and plan it."""
    action = model_admin.find_action(path=name)
    try:
        filters = _filters_of(model_admin, request)
        dry_run = count_matching(model_admin.queue, action.operation, request.user, filters)
    except (UnusableFilters, OperationUnavailable) as why:
        messages.error(request, explain(str(why)))
        return HttpResponseRedirect(model_admin.address("changelist"))
    form = action.form(request.POST or None)
    if request.method == "POST" and form.is_valid() and dry_run.eligible:
        request_fields = {
            "queue": model_admin.queue.table.queue,
            "action": action.name,
            "user": request.user,
            "filters": filters,
            "filters_text": model_admin.filters.describe(filters, request.user),
            "reason": form.cleaned_data["reason"],
            "options": form.options(),
        }
        planned = plan(**request_fields) if dry_run.is_capped else _start_now(request, form, request_fields)
        if planned:
            return HttpResponseRedirect(reverse("admin:bulk_bulkaction_change", args=[planned.pk]))
    return _confirm_all(model_admin, request, action, filters=filters, dry_run=dry_run, form=form)


def _start_now(request: HttpRequest, form: ReasonForm, request_fields: dict[str, object]) -> BulkAction | None:
    """Plan and start in one transaction; a wrong count leaves nothing behind."""
    with transaction.atomic():
        planned = plan_now(**request_fields)
        if BulkAction.objects.filter(pk=planned.pk).start(count=typed_count(request.POST)):
            doorbells.ring(ENGINE.bell)
            return planned
        transaction.set_rollback(True)
    # About the count, which is not a field of the form's class.
    message = _("Type %(number)s to confirm: that many rows would be changed now.")
    form.add_error(None, message % {"number": grouped(planned.eligible or 0)})
    return None


def _confirm_all(
    model_admin: ModelAdmin,
    request: HttpRequest,
    action: Action,
    *,
    filters: Mapping[str, str],
    dry_run: DryRun,
    form: ReasonForm,
) -> HttpResponse:
    number = dry_run.eligible.total()
    if number > MOST_WITHOUT_COUNT and not dry_run.is_capped:
        form.fields["count"] = count_field(number)
    names = model_admin.opts.verbose_name_plural
    everything = _("%(action)s all matching %(names)s?") % {"action": action.title, "names": names}
    submit = _("Count them first") if dry_run.is_capped else str(action.title)
    return confirm_page(
        model_admin,
        request,
        **action.confirm_context,
        title=everything if dry_run.is_capped or not number else action.question(number),
        sentences=preview_text(action, dry_run.as_json(), is_capped=dry_run.is_capped),
        facts=[(_("Filter"), mask_personal_data(model_admin.filters.describe(filters, request.user)))],
        form=form,
        submit=submit if dry_run.eligible else "",
        post_to=bulk_address(model_admin, action, filters),
        back=list_path(model_admin.model, **filters),
    )


def bulk_address(model_admin: ModelAdmin, action: Action, filters: Mapping[str, str]) -> str:
    return page_path(model_admin.model, "act_on_all", action.path, **filters)


def preview_text(action: Action, dry_run: Mapping[str, Any], *, is_capped: bool = False) -> list[str]:
    eligible = Counter(dry_run.get("eligible", {}))
    if is_capped:
        first = _("%(title)s: more than %(number)s match. They are counted first; then you confirm.")
        sentences = [first % {"title": action.title, "number": grouped(MOST_LOOKED_AT)}]
    else:
        labels = action.operation.table.labels
        by_state = ", ".join(f"{labels[state]}: {grouped(number)}" for state, number in sorted(eligible.items()))
        total = eligible.total()
        first = ngettext("%(title)s: %(number)s matches%(states)s.", "%(title)s: %(number)s match%(states)s.", total)
        states = f" ({by_state})" if by_state else ""
        sentences = [first % {"title": action.title, "number": grouped(total), "states": states}]
    sentences += action.effects(eligible)
    sentences += action.unchanged(skips_from_json(dry_run.get("skipped", [])))
    if dry_run.get("others_capped"):
        text = _("More than %(number)s others match and will not change.")
        sentences.append(text % {"number": grouped(MOST_LOOKED_AT)})
    else:
        sentences += action.unchanged({Skip(state): number for state, number in dry_run.get("others", {}).items()})
    return sentences


def count_field(number: int) -> forms.CharField:
    """Ask for a number to be typed, so that many rows are never changed by a slip."""
    return forms.CharField(
        required=False,
        label=_("Type %(number)s to confirm") % {"number": grouped(number)},
        widget=UnfoldAdminTextInputWidget(attrs={"autocomplete": "off", "inputmode": "numeric"}),
    )


def typed_count(data: QueryDict) -> int | None:
    """Return the number that was typed, with any separator of thousands."""
    digits = "".join(letter for letter in data.get("count", "") if letter not in ",. '\u00a0\u202f")
    return int(digits) if digits.isascii() and digits.isdecimal() and len(digits) < 10 else None


@dataclass(frozen=True)
class RowsNow:
    """How many rows are in a state now; `is_again` if the action applies to them once more."""

    label: object
    count: int
    href: str
    is_again: bool

    def __str__(self) -> str:
        text = _("%(state)s again: %(number)s") if self.is_again else _("%(state)s: %(number)s")
        return text % {"number": grouped(self.count), "state": self.label}


def count_now(rows: Any, action: Action, **filters: str) -> list[RowsNow]:
    counts = dict(rows.order_by().values_list("status").annotate(Count("pk")))
    labels = action.operation.table.labels
    return [
        RowsNow(labels[state], counts[state], list_path(rows.model, **filters, status=state), state in action.sources)
        for state in labels
        if counts.get(state)
    ]


def remember(model_admin: ModelAdmin, request: HttpRequest, action: Action, ids: Sequence[UUID]) -> None:
    """Keep which rows the user acted on: workers may reject them at once, and the list shows what became of them."""
    named = [str(pk) for pk in ids[:MOST_FOLLOWED]]
    last = {"model": model_admin.opts.label, "action": action.name, "ids": named, "at": time.time()}
    request.session[LAST_ACTION] = last


def follow_up(model_admin: ModelAdmin, request: HttpRequest) -> dict[str, object] | None:
    last = request.session.get(LAST_ACTION)
    if not last or last["model"] != model_admin.opts.label or last["at"] < time.time() - FOLLOWED_FOR:
        return None
    action = model_admin.action_named(last["action"])
    rows = model_admin.queue.visible_to(request.user).filter(pk__in=last["ids"])
    return {"title": action.title, "rows": count_now(rows, action)}
