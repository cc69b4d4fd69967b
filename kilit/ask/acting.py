"""The verbs that act: each calls the operation that the pages call, under the name of the key.

At most 1,000 jobs at once: more are a bulk action of the console, which asks for the number.
"""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from rest_framework.exceptions import NotFound, PermissionDenied

from kilit.api.errors import ApiError
from kilit.ask.schemas import MOST_ACTED_ON, MOST_NAMED, ActInput, AskOutcome, AskSwitch, AskUnchanged, PauseInput
from kilit.ask.verbs import Caller, masked, verb
from kilit.batches.operations import OperationResult, OperationUnavailable
from kilit.batches.queues import Queue
from kilit.console.lists.actions import Action
from kilit.console.queue_admin import admin_of
from kilit.lock.audit import for_reason
from kilit.lock.models import ErrorGroup, QueuePause
from kilit.machine_errors import explain
from kilit.sites.operations import PAUSE, RESUME, SiteOperation, run_where_possible
from kilit.sites.site_model import sites

ChosenRows = tuple[Queue, list[UUID]]
NOT_FOUND = "There is no such job among those that you see."
MAY_NOT = "You may not do this with jobs of {}."


def verb_of_jobs(name: str, title: str, about: str, **hints: bool) -> None:
    """Declare an operation of queues as a verb, for those who may use it in one of them."""

    def run(caller: Caller, body: ActInput) -> AskOutcome:
        return act(name, caller, body)

    run.__name__, run.__doc__ = name, f"{about} {AT_MOST}"
    verb(title, acts=True, is_for=lambda caller: any(caller.may(name, each) for each in caller.queues()), **hints)(run)


AT_MOST = "By ids or a whole error group; at most 1,000 jobs at once. Needs a reason, which the history keeps."
verb_of_jobs("retry", "Retry failed jobs", "They are tried again, with all their attempts.", is_idempotent=False)
verb_of_jobs("mark_failed", "Mark jobs failed", "Jobs that wait end as failed, and are not sent.", is_destructive=True)
HOLD = "Jobs on hold start again. Fix the cause that their error names first."
verb_of_jobs("approve", "Approve held jobs", HOLD, is_idempotent=False)


def act(name: str, caller: Caller, body: ActInput) -> AskOutcome:
    """Do an operation with some jobs, of whichever queues they are."""
    chosen = named_rows(caller, body.ids, body.queue) if body.ids else [rows_of_group(name, caller, body)]
    moved, unchanged, sentences = list[str](), list[AskUnchanged](), []
    for queue, ids in chosen:
        if not caller.may(name, queue):
            unchanged += (refusal(pk, MAY_NOT.format(queue.title)) for pk in ids)
            continue
        action = admin_of(queue).action_named(name)
        result = apply(action, caller, ids, body.reason)
        moved += map(str, sorted(result.moved))
        unchanged += (explain_unchanged(action, pk, result) for pk in ids if pk not in result.moved)
        sentences.append(action.report(len(ids), len(result.moved)).sentence)
    seen = {pk for _queue, ids in chosen for pk in ids}
    unchanged += (refusal(pk, NOT_FOUND) for pk in body.ids or () if pk not in seen)
    message = " ".join(sentences) or "Nothing was changed."
    return {"changed": len(moved), "ids": moved, "unchanged": unchanged, "message": message}


def refusal(pk: UUID, why: str, state: str | None = None) -> AskUnchanged:
    return {"id": str(pk), "state": state, "why": masked(why)}


def apply(action: Action, caller: Caller, ids: list[UUID], reason: str) -> OperationResult:
    """Do it in the operation's batches; if it becomes impossible, what was done stays done."""
    operation, form = action.operation, action.form_for(ids, {"reason": reason})
    options = form.options() if form.is_valid() else {}
    done = OperationResult(set(), {})
    for start in range(0, len(ids), operation.batch):
        try:
            with for_reason(reason):
                result = operation.apply(caller.user, ids[start : start + operation.batch], options)
        except OperationUnavailable as why:
            if not done.moved:
                raise ApiError(409, "UNAVAILABLE_NOW", explain(str(why))) from None
            done.messages.update(dict.fromkeys(ids[start:], str(why)))
            break
        done.moved.update(result.moved)
        done.skipped.update(result.skipped)
        done.messages.update(result.messages)
    return done


def explain_unchanged(action: Action, pk: UUID, result: OperationResult) -> AskUnchanged:
    skip = result.skipped.get(pk)
    why = action.skip_text(skip) if skip else action.operation.out_of_reach
    return refusal(pk, result.messages.get(pk, why), skip.state if skip else None)


def named_rows(caller: Caller, ids: Sequence[UUID], name: str | None) -> list[ChosenRows]:
    """Return the rows by their queues; of the queue that is named, if one is, or nothing is done."""
    named = caller.queues(name)
    rows = [(queue, queue.visible_to(caller.user).filter(pk__in=ids).order_by("pk")) for queue in caller.queues()]
    chosen = [(queue, pks) for queue, each in rows if (pks := list(each.values_list("pk", flat=True)))]
    if not chosen:
        raise NotFound(NOT_FOUND)
    others = [str(pk) for queue, pks in chosen if queue not in named for pk in pks]
    if others:
        message = f"Of another queue than {name}, and nothing was changed: {', '.join(others[:MOST_NAMED])}"
        raise ApiError(409, "OTHER_QUEUE", f"{message}{' …' if len(others) > MOST_NAMED else '.'}", ids=others)
    return chosen


def rows_of_group(name: str, caller: Caller, body: ActInput) -> ChosenRows:
    (queue,) = caller.queues(body.queue)
    if not caller.may(name, queue):
        raise PermissionDenied(MAY_NOT.format(queue.title))
    operation, scopes = queue.operation(name), queue.scopes_seen_by(caller.user)
    if not ErrorGroup.objects.largest(queue=queue.table.queue, scopes=scopes, group=body.group, limit=1):
        raise NotFound("There is no such error group among those that you see.")
    rows = operation.within_reach(queue.matching(caller.user, {"group": str(body.group)}), caller.user)
    found = rows.filter(status__in=operation.sources).order_by("pk").values_list("pk", flat=True)
    ids = list(found[: MOST_ACTED_ON + 1])
    if len(ids) > MOST_ACTED_ON:
        message = f"More than {MOST_ACTED_ON:,} jobs match; nothing was changed. The console acts on so many."
        raise ApiError(409, "TOO_MANY", message)
    return queue, ids


def may_switch(caller: Caller) -> bool:
    return PAUSE.may(caller.user) or any(map(caller.may_pause, caller.queues()))


@verb("Pause a queue or a site", acts=True, is_for=may_switch, is_destructive=True)
def pause(caller: Caller, body: PauseInput) -> AskSwitch:
    """No job of it is started until it is resumed; jobs that run are finished.

    Needs a reason, which everyone sees who asks why jobs wait.
    """
    return switch(PAUSE, caller, body)


@verb("Resume a queue or a site", acts=True, is_for=may_switch)
def resume(caller: Caller, body: PauseInput) -> AskSwitch:
    """End the pause of a queue or a site: its jobs are started again. Needs a reason."""
    return switch(RESUME, caller, body)


def switch(operation: SiteOperation, caller: Caller, body: PauseInput) -> AskSwitch:
    """Pause or resume a site, or a queue."""
    what, act_on = ("site", switch_site) if body.site else ("queue", switch_queue)
    with for_reason(body.reason):
        is_changed = act_on(operation, caller, body)
    done, undone = f"The {what} is {operation.name}d.", "Nothing was changed: it is so already."
    return {"changed": is_changed, "message": done if is_changed else undone}


def switch_queue(operation: SiteOperation, caller: Caller, body: PauseInput) -> bool:
    (queue,) = caller.queues(body.queue)
    if not queue.paused_title:
        raise ApiError(409, "UNAVAILABLE_NOW", f"{queue.title} cannot be paused as a whole. Pause a site.")
    if not caller.may_pause(queue):
        raise PermissionDenied(f"You may not pause {queue.title}.")
    if operation is PAUSE:
        return QueuePause.objects.pause(queue.table, reason=body.reason)
    return QueuePause.objects.resume(queue.table)


def switch_site(operation: SiteOperation, caller: Caller, body: PauseInput) -> bool:
    site = site_named(caller, str(body.site))
    if not (operation.may(caller.user) and operation.allowed(caller.user).filter(pk=site.pk).exists()):
        raise PermissionDenied("You may not do this with this site.")
    note = f" With the API key {caller.key}." if caller.key else ""
    return bool(run_where_possible(operation, caller.user, [site.pk], reason=body.reason, note=note))


def site_named(caller: Caller, text: str) -> Any:
    """Return the site with an id, with this name, or the only one whose name has these words."""
    seen = sites().seen_by(caller.user)
    named = seen.active().filter(name__words=text).order_by("name", "pk")
    for rows in (seen.with_id(text), named.filter(name=text), named):
        if len(found := list(rows[: MOST_NAMED + 1])) == 1:
            return found[0]
        if found:
            matches = [{"site_id": site.public_id, "name": site.name} for site in found[:MOST_NAMED]]
            raise ApiError(409, "AMBIGUOUS", "Several sites have this name. Name one by its id.", matches=matches)
    raise NotFound("There is no such site among those that you see.")
