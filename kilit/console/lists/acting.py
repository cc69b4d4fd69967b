"""Acting on rows: what is done to many, or cannot be taken back, is confirmed first."""

from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import messages
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.db.models import Count
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from unfold.admin import ModelAdmin

from kilit.access.models import DenialCode
from kilit.access.models.denied_request import mark_denied
from kilit.console.formatting import number as grouped
from kilit.console.lists import undo
from kilit.console.lists.actions import Action, confirm_action
from kilit.console.lists.bulk_requests import remember
from kilit.console.lists.confirming import ReasonForm
from kilit.lock.audit import for_reason
from kilit.sites.scopes import scope_names

LIST_FILTERS = "_changelist_filters"  # as Django calls them in the address of a row's page
MOST_NAMED = 5  # rows on the confirmation page
COLUMNS_NAMED = 4  # of the list: the first ones identify a row


def confirm_selected(model_admin: ModelAdmin, request: HttpRequest, action: Action, rows: Any) -> HttpResponse | None:
    """Confirm the rows selected in the list; the ids that are shown are those that will be acted on."""
    most = model_admin.most_acted_on
    ids = list(rows.order_by().values_list("pk", flat=True)[: most + 1])
    if len(ids) > most:
        messages.error(request, _("At most %(most)s rows at once.") % {"most": grouped(most)})
        return None
    return confirm(model_admin, request, action, ids, filters=request.GET.urlencode())


def confirm_row(model_admin: ModelAdmin, action: Action, request: HttpRequest, object_id: str) -> HttpResponse:
    if not model_admin.has_operate_permission(request, object_id):
        raise PermissionDenied
    pk = model_admin.read_id(unquote(object_id))
    if pk is None:
        raise Http404
    return confirm(model_admin, request, action, [pk], filters=request.GET.get(LIST_FILTERS, ""), from_row=True)


def confirm(
    model_admin: ModelAdmin,
    request: HttpRequest,
    action: Action,
    ids: list[UUID],
    *,
    filters: str = "",
    from_row: bool = False,
    form: ReasonForm | None = None,
) -> HttpResponse:
    eligible, sentences = action.preview(request.user, ids)
    came_from = {"filters": filters, "from_row": "1" if from_row else ""}
    # In the address too, which outlives a session: a user who has to log in again is led back.
    query = urlencode({"ids": ids[0], **came_from} if from_row else {"filters": filters})
    return confirm_action(
        model_admin,
        request,
        action,
        title=action.question(eligible or len(ids)),
        sentences=sentences,
        **_rows_context(model_admin, request, action, ids),
        form=form or action.form_for(ids),
        submit=str(action.title) if eligible else "",
        post_to=f"{model_admin.address('act', action.verb)}?{query}",
        kept={"ids": ",".join(map(str, ids)), **came_from},
        back=back_address(model_admin, ids, filters=filters, from_row=from_row),
    )


def _rows_context(model_admin: ModelAdmin, request: HttpRequest, action: Action, ids: list[UUID]) -> dict[str, Any]:
    rows = model_admin.get_queryset(request).filter(pk__in=ids)
    first = rows.select_related(*(model_admin.list_select_related or ())).order_by("-pk")[:MOST_NAMED]
    columns = [(capfirst(column.short_description), column) for column in model_admin.list_display[:COLUMNS_NAMED]]
    beyond = rows.count() - MOST_NAMED
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
    action = {action.verb: action for action in model_admin.actions}.get(verb)
    if action is None:
        raise Http404
    if not model_admin.has_operate_permission(request):
        raise PermissionDenied
    values = request.POST if request.method == "POST" else request.GET
    named = (model_admin.read_id(text) for text in values.get("ids", "").split(","))
    ids = list(dict.fromkeys(pk for pk in named if pk))
    filters, from_row = values.get("filters", ""), bool(values.get("from_row"))
    back = HttpResponseRedirect(back_address(model_admin, ids, filters=filters, from_row=from_row and bool(ids)))
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
        return confirm(model_admin, request, action, ids, form=form, filters=filters, from_row=from_row)
    with for_reason(form.cleaned_data["reason"]):
        _perform(model_admin, request, action, ids, form.options())
    if not from_row:
        remember(model_admin, request, action, ids)
    return back


def _perform(
    model_admin: ModelAdmin, request: HttpRequest, action: Action, ids: list[UUID], options: dict[str, Any]
) -> None:
    if not action.undo or len(ids) > 1:
        report = action.perform(request.user, ids, options)
        messages.add_message(request, report.level, report.sentence)
        return
    kept = {name: request.POST.get(name, "") for name in ("ids", "filters", "from_row")}
    form = {"post_to": model_admin.address("undo", action.verb), "kept": kept}
    report = undo.perform(request, action, ids[0], options, form=form)
    tags = undo.KEY if undo.KEY in request.session else ""  # shown as a button, by the template of messages
    messages.add_message(request, report.level, report.sentence, extra_tags=tags)


def take_back(model_admin: ModelAdmin, request: HttpRequest, verb: str) -> HttpResponse:
    action = {action.verb: action for action in model_admin.actions if action.undo}.get(verb)
    pk = model_admin.read_id(request.POST.get("ids", ""))
    if action is None or pk is None:
        raise Http404
    if not model_admin.has_operate_permission(request, str(pk)):
        raise PermissionDenied
    report = undo.take_back(request, action, pk)
    messages.add_message(request, report.level, report.sentence)
    filters, from_row = request.POST.get("filters", ""), bool(request.POST.get("from_row"))
    return HttpResponseRedirect(back_address(model_admin, [pk], filters=filters, from_row=from_row))


def log_out_of_reach(model_admin: ModelAdmin, request: HttpRequest, ids: list[Any]) -> None:
    """Log a denied request that names rows out of the user's reach; no verb will touch them."""
    in_reach = model_admin.acted_on_by(request).values("pk")
    denied = model_admin.model._base_manager.filter(pk__in=ids).exclude(pk__in=in_reach)
    if count := denied.count():
        mark_denied(request, DenialCode.NOT_YOURS, f"{count} of {len(ids)} rows")


def back_address(model_admin: ModelAdmin, ids: list[Any], *, filters: str, from_row: bool = False) -> str:
    """Return the page it was asked from; a row's page keeps the filters of the list it was opened from."""
    if not from_row:
        return str(model_admin.address("changelist")) + (f"?{filters}" if filters else "")
    kept = urlencode({LIST_FILTERS: filters}) if filters else ""
    return str(model_admin.address("change", ids[0])) + (f"?{kept}" if kept else "")


def back_to_row(model_admin: ModelAdmin, request: HttpRequest, row: Any) -> HttpResponse:
    filters = request.POST.get("filters", "")
    return HttpResponseRedirect(back_address(model_admin, [row.pk], filters=filters, from_row=True))
