"""Acting on rows: what is done to many, or cannot be taken back, is confirmed first.

What was done at once to one row can be undone: it becomes what it was, unless something has happened since. What the
action changed is kept in the user's session, the last action only. Undoing is a move of the queue's table, and matches
the row as the action left it: once a worker or another person has it, nothing is taken back.
"""

from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Count
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.dateparse import parse_datetime
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from unfold.admin import ModelAdmin

from kilit.access.models import DenialCode
from kilit.access.models.denied_request import mark_denied
from kilit.console.formatting import number as grouped
from kilit.console.lists.actions import Action, ActionReport
from kilit.console.lists.bulk_requests import remember
from kilit.console.lists.confirming import ReasonForm, confirm_page
from kilit.lock.audit import for_reason
from kilit.lock.guard import LifecycleModel
from kilit.lock.leases import LeasedModel
from kilit.sites.scopes import scope_names

LIST_FILTERS = "_changelist_filters"  # as Django calls them in the address of a row's page
CAME_FROM = ("filters", "from_row")  # fields of a form: those of the list, and whether a row's page was open
MOST_NAMED = 5  # rows on the confirmation page
COLUMNS_NAMED = 4  # of the list: the first ones identify a row
UNDO = "undo"  # in the session, and as a tag of the message that offers it
# Written by a move itself and by the database.
NOT_RESTORED = ("status", "updated_at", "error_group")


def confirm_selected(model_admin: ModelAdmin, request: HttpRequest, action: Action, rows: Any) -> HttpResponse | None:
    """Confirm the rows selected in the list; the ids that are shown are those that will be acted on."""
    most = model_admin.most_acted_on
    ids = list(rows.order_by().values_list("pk", flat=True)[: most + 1])
    if len(ids) > most:
        messages.error(request, _("At most %(most)s rows at once.") % {"most": grouped(most)})
        return None
    return confirm(model_admin, request, action, ids, {"filters": request.GET.urlencode(), "from_row": ""})


def confirm_row(action: Action, model_admin: ModelAdmin, request: HttpRequest, row: Any) -> HttpResponse:
    came_from = {"filters": request.GET.get(LIST_FILTERS, ""), "from_row": "1"}
    return confirm(model_admin, request, action, [row.pk], came_from)


def confirm(
    model_admin: ModelAdmin,
    request: HttpRequest,
    action: Action,
    ids: list[UUID],
    came_from: dict[str, str],
    *,
    form: ReasonForm | None = None,
) -> HttpResponse:
    """Ask before it is done; `came_from` is what leads back to the list or the row's page."""
    eligible, sentences = action.preview(request.user, ids)
    # In the address too, which outlives a session: a user who has to log in again is led back.
    query = urlencode({**came_from, "ids": ids[0] if came_from["from_row"] else ""})
    return confirm_page(
        model_admin,
        request,
        **action.confirm_context,
        title=action.question(eligible or len(ids)),
        sentences=sentences,
        **_rows_context(model_admin, request, action, ids),
        form=form or action.form_for(ids),
        submit=str(action.title) if eligible else "",
        post_to=f"{model_admin.address('act', action.verb)}?{query}",
        kept={"ids": ",".join(map(str, ids)), **came_from},
        back=back_address(model_admin, ids, **came_from),
    )


def _rows_context(model_admin: ModelAdmin, request: HttpRequest, action: Action, ids: list[UUID]) -> dict[str, Any]:
    rows = model_admin.get_queryset(request).filter(pk__in=ids)
    first = rows.select_related(*(model_admin.list_select_related or ())).order_by("-pk")[:MOST_NAMED]
    columns = [(capfirst(column.short_description), column) for column in model_admin.list_display[:COLUMNS_NAMED]]
    beyond = rows.count() - MOST_NAMED if len(ids) > MOST_NAMED else 0
    return {
        "rows": [{label: column(row) for label, column in columns} for row in first],
        "beyond": _("and %(number)s more") % {"number": grouped(beyond)} if beyond > 0 else "",
        "facts": _sites_of(rows, action.operation.scope) if beyond > 0 else [],
    }


def _sites_of(rows: Any, scope: str) -> list[tuple[str, str]]:
    """Name the sites of rows of which not all are named."""
    if not scope:
        return []
    counts, names = rows.order_by().values_list(scope).annotate(Count("pk")), scope_names()
    named = sorted((names[str(site)], number) for site, number in counts if str(site) in names)
    return [(_("Sites"), ", ".join(f"{name}: {grouped(number)}" for name, number in named))] if named else []


def act(model_admin: ModelAdmin, request: HttpRequest, verb: str) -> HttpResponse:
    """Do what was confirmed, and report; a second click finds nothing left to do."""
    action = model_admin.find_action(verb=verb)
    values = request.POST if request.method == "POST" else request.GET
    named = (model_admin.read_id(text) for text in values.get("ids", "").split(","))
    ids = list(dict.fromkeys(pk for pk in named if pk))
    came_from = {name: values.get(name, "") for name in CAME_FROM}
    back = HttpResponseRedirect(back_address(model_admin, ids, **came_from))
    if request.method != "POST":  # logging in again leads here, without the form
        messages.warning(request, _("Nothing was changed: your session had ended. Please confirm again."))
        return back
    if not 0 < len(ids) <= model_admin.most_acted_on:
        most = {"most": grouped(model_admin.most_acted_on)}
        messages.error(request, _("Select from 1 to %(most)s rows.") % most)
        return HttpResponseRedirect(model_admin.address("changelist"))
    form = action.form_for(ids, request.POST)
    log_out_of_reach(model_admin, request, ids)
    if not form.is_valid():
        return confirm(model_admin, request, action, ids, came_from, form=form)
    with for_reason(form.cleaned_data["reason"]):
        if action.undo and len(ids) == 1:
            report = _perform_undoable(model_admin, request, action, ids[0], form.options())
        else:
            report = action.perform(request.user, ids, form.options())
    # The template of messages shows the tag as a button.
    tags = UNDO if action.undo and len(ids) == 1 and UNDO in request.session else ""
    messages.add_message(request, report.level, report.sentence, extra_tags=tags)
    if not came_from["from_row"]:
        remember(model_admin, request, action, ids)
    return back


def _perform_undoable(
    model_admin: ModelAdmin, request: HttpRequest, action: Action, pk: UUID, options: dict[str, Any]
) -> ActionReport:
    with transaction.atomic():
        rows = model_admin.in_reach(request, [pk])
        before = rows.select_for_update(of=("self",)).first()
        report = action.perform(request.user, [pk], options)
        after = rows.first()
    request.session.pop(UNDO, None)
    if before and after and before.status == action.operation.table.moves[action.undo].target != after.status:
        kept = {name: request.POST.get(name, "") for name in ("ids", *CAME_FROM)}
        request.session[UNDO] = {
            "verb": action.undo,
            "id": str(pk),
            "at": after.updated_at.isoformat(),
            "columns": _changes(before, after),
            "form": {"post_to": model_admin.address("undo", action.verb), "kept": kept},
        }
    return report


def _changes(before: LifecycleModel, after: LifecycleModel) -> dict[str, object]:
    """Return what the columns were that differ now, as the session can store it."""
    return {
        field.attname: None if field.value_from_object(before) is None else field.value_to_string(before)
        for field in before._meta.concrete_fields
        if field.name not in NOT_RESTORED and field.value_from_object(before) != field.value_from_object(after)
    }


def take_back(model_admin: ModelAdmin, request: HttpRequest, verb: str) -> HttpResponse:
    action, pk = model_admin.find_action(verb=verb), model_admin.read_id(request.POST.get("ids", ""))
    if not action.undo or pk is None:
        raise Http404
    rows = model_admin.in_reach(request, [pk])
    if not rows.exists():
        raise PermissionDenied
    report = _undo(request, action, pk, rows)
    messages.add_message(request, report.level, report.sentence)
    came_from = {name: request.POST.get(name, "") for name in CAME_FROM}
    return HttpResponseRedirect(back_address(model_admin, [pk], **came_from))


def _undo(request: HttpRequest, action: Action, pk: UUID, rows: Any) -> ActionReport:
    undo = request.session.get(UNDO) or {}
    if (undo.get("verb"), undo.get("id")) != (action.undo, str(pk)):
        return ActionReport(_("There is nothing to undo."), messages.WARNING)
    del request.session[UNDO]
    model, table = action.operation.model, action.operation.table
    as_left = rows.filter(updated_at=parse_datetime(undo["at"]))
    if issubclass(model, LeasedModel):
        as_left = as_left.filter(claim_token=None)
    fields = {field.attname: field for field in model._meta.concrete_fields}
    columns = {name: text if text is None else fields[name].to_python(text) for name, text in undo["columns"].items()}
    if as_left.move(action.undo, **columns):
        state = table.labels[table.moves[action.undo].target]
        return ActionReport(_("Undone. Its state: %(state)s.") % {"state": state}, messages.SUCCESS)
    state = table.labels.get(rows.values_list("status", flat=True).first() or "", "–")
    text = _("Too late to undo: it has moved on. Its state: %(state)s.")
    return ActionReport(text % {"state": state}, messages.WARNING)


def log_out_of_reach(model_admin: ModelAdmin, request: HttpRequest, ids: list[Any]) -> None:
    """Log a denied request that names rows out of the user's reach; no verb will touch them."""
    in_reach = model_admin.in_reach(request, ids).values("pk")
    denied = model_admin.model._base_manager.filter(pk__in=ids).exclude(pk__in=in_reach)
    if count := denied.count():
        mark_denied(request, DenialCode.NOT_YOURS, f"{count} of {len(ids)} rows")


def back_address(model_admin: ModelAdmin, ids: list[Any], *, filters: str, from_row: object = "") -> str:
    """Return the page it was asked from; a row's page keeps the filters of the list it was opened from."""
    if not (from_row and ids):
        return str(model_admin.address("changelist")) + (f"?{filters}" if filters else "")
    kept = urlencode({LIST_FILTERS: filters}) if filters else ""
    return str(model_admin.address("change", ids[0])) + (f"?{kept}" if kept else "")


def back_to_row(model_admin: ModelAdmin, request: HttpRequest, row: Any) -> HttpResponse:
    filters = request.POST.get("filters", "")
    return HttpResponseRedirect(back_address(model_admin, [row.pk], filters=filters, from_row=True))
