"""Undo of an action that was done at once on one row: it becomes what it was, unless something has happened since.

What the action changed is kept in the user's session, the last action only. Undoing is a move of the queue's table, and
matches the row as the action left it: once a worker or another person has it, nothing is taken back.
"""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _

from kilit.console.lists.actions import Action, ActionReport
from kilit.lock.guard import LifecycleModel
from kilit.lock.leases import LeasedModel

KEY = "undo"
# Written by the move itself and by the database.
NOT_RESTORED = ("status", "updated_at", "error_group")


def perform(
    request: HttpRequest, action: Action, pk: UUID, options: dict[str, Any], *, form: dict[str, Any]
) -> ActionReport:
    with transaction.atomic():
        rows = _rows(request, action, pk)
        before = rows.select_for_update(of=("self",)).first()
        report = action.perform(request.user, [pk], options)
        after = rows.first()
    request.session.pop(KEY, None)
    if before and after and before.status == action.operation.table.moves[action.undo].target != after.status:
        request.session[KEY] = {
            "verb": action.undo,
            "id": str(pk),
            "at": after.updated_at.isoformat(),
            "columns": _changed(before, after),
            "form": form,
        }
    return report


def take_back(request: HttpRequest, action: Action, pk: UUID) -> ActionReport:
    undo = request.session.get(KEY) or {}
    if (undo.get("verb"), undo.get("id")) != (action.undo, str(pk)):
        return ActionReport(_("There is nothing to undo."), messages.WARNING)
    del request.session[KEY]
    rows, table = _rows(request, action, pk), action.operation.table
    as_left = rows.filter(updated_at=parse_datetime(undo["at"]))
    if issubclass(action.operation.model, LeasedModel):
        as_left = as_left.filter(claim_token=None)
    if as_left.move(action.undo, **_read(action.operation.model, undo["columns"])):
        target = table.moves[action.undo].target
        return ActionReport(_("Undone. Its state: %(state)s.") % {"state": table.labels[target]}, messages.SUCCESS)
    state = table.labels.get(rows.values_list("status", flat=True).first() or "", "–")
    text = _("Too late to undo: it has moved on. Its state: %(state)s.")
    return ActionReport(text % {"state": state}, messages.WARNING)


def _rows(request: HttpRequest, action: Action, pk: UUID) -> Any:
    return action.operation.within_reach(action.operation.model._default_manager.filter(pk=pk), request.user)


def _changed(before: LifecycleModel, after: LifecycleModel) -> dict[str, object]:
    """Return what the columns were that differ now, as the session can store it."""
    return {
        field.attname: None if field.value_from_object(before) is None else field.value_to_string(before)
        for field in before._meta.concrete_fields
        if field.name not in NOT_RESTORED and field.value_from_object(before) != field.value_from_object(after)
    }


def _read(model: type[LifecycleModel], columns: dict[str, object]) -> dict[str, object]:
    fields = {field.attname: field for field in model._meta.concrete_fields}
    return {name: None if text is None else fields[name].to_python(text) for name, text in columns.items()}
