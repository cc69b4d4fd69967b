"""The verbs that only read: what is wrong, where a job is and why, and how many there are."""

from collections.abc import Iterator
from typing import Any

from django.contrib import admin

from kilit.api.errors import ApiError
from kilit.ask import schemas
from kilit.ask.caller import Caller, admin_of, link, masked
from kilit.ask.verbs import VERBS, verb
from kilit.batches.error_entries import TRY_AGAIN
from kilit.batches.queues import Queue
from kilit.console.jobs.job_page import entry_of
from kilit.console.lists.error_groups import group_message
from kilit.lock.audit import actor_in_words
from kilit.lock.models import Count, ErrorGroup, Event, QueuePause
from kilit.lock.table import Kind
from kilit.problems.links import row_path
from kilit.problems.registry import find_problems
from kilit.problems.tracking import texts_to_send
from kilit.sites.site_model import site_model, sites
from kilit.workers.models import Heartbeat

MOST_STEPS = 20
MOST_MATCHES, MOST_NAMED = 50, 10  # that are looked at, and named, when a text finds several jobs
SEVERITIES = {1: "notice", 2: "warning", 3: "error", 4: "critical"}


@verb("List problems")
def problems(caller: Caller, body: schemas.AskInput) -> schemas.AskProblems:
    """What is wrong now: failed and stuck jobs, pauses, rejected accounts, missing workers.

    Each with its cause, what to do about it, how many jobs it concerns and since when. The most harmful come first.
    """
    named = {queue.table.queue for queue in caller.queues(body.queue)} if body.queue else None
    shown: list[Any] = [
        {
            **texts_to_send(problem),
            "key": problem.key,
            "queue": problem.part,
            "kind": str(problem.kind),
            "severity": SEVERITIES[problem.severity],
            "count": problem.count,
            "since": problem.since,
            "link": link(problem.link) if problem.link else None,
        }
        for problem in find_problems(caller.user)
        if named is None or problem.part in named
    ]
    return {"problems": shown}


@verb("Find jobs")
def find(caller: Caller, body: schemas.FindInput) -> schemas.AskMatches:
    """Jobs of all queues by the beginning of what people call them.

    A source key, an order id, a phone number, a customer, the number of a document, or an id.
    """
    matches, has_more = caller.find(body.text, body.queue, body.limit)
    return {"jobs": [show_job(*match) for match in matches], "more": has_more}


@verb("Explain a job")
def explain(caller: Caller, body: schemas.ExplainInput) -> schemas.AskExplanation:
    """One job: its state in words, what keeps it from going on, its error with cause and advice, its history.

    And what may be done, by whom. Times in sentences are in UTC.
    """
    matches, _has_more = caller.find(body.job, body.queue, MOST_MATCHES)
    if not matches:
        raise ApiError(404, "NOT_FOUND", "There is no such job among those that you see.")
    whole_names = [(queue, row) for queue, row in matches if admin_of(queue).page.name(row) == body.job]
    matches = whole_names if len(whole_names) == 1 else matches
    if len(matches) > 1:
        named = [show_job(*match) for match in matches[:MOST_NAMED]]
        raise ApiError(409, "AMBIGUOUS", f"This finds {len(matches)} jobs or more. Name one by its id.", matches=named)
    ((queue, row),) = matches
    events, blockers = Event.objects.history(row), admin_of(queue).page.blockers
    return {
        "job": show_job(queue, row),
        "blockers": [{"kind": each.kind.value, "sentence": masked(each.sentence)} for each in blockers(row, events)],
        "error": show_error(queue, row),
        "timeline": list(show_steps(queue, events)),
        "actions": list(show_actions(caller, queue, row)),
    }


def show_job(queue: Queue, row: Any) -> schemas.AskJob:
    model_admin = admin_of(queue)
    entry = entry_of(model_admin, row)
    return {
        "id": str(row.pk),
        "queue": queue.table.queue,
        "name": masked(model_admin.page.name(row)),
        "belongs_to": masked(model_admin.page.belongs_to(row)),
        "state": row.status,
        "state_words": str(queue.table.labels[row.status]),
        "error_code": getattr(row, model_admin.failures.code) if entry else None,
        "error_words": entry.label if entry else None,
        "created_at": row.created_at,
        "link": link(row_path(row)),
    }


def show_error(queue: Queue, row: Any) -> schemas.AskError | None:
    model_admin = admin_of(queue)
    entry = entry_of(model_admin, row)
    if entry is None:
        return None
    cause, *advice = entry.sentences() if entry.cause else ["", *entry.sentences()]
    return {
        "code": getattr(row, model_admin.failures.code),
        "words": entry.label,
        "cause": cause,
        "advice": " ".join(advice),
        "turn": str(entry.turn.label),
        "message": masked(getattr(row, model_admin.failures.message)),
    }


def show_steps(queue: Queue, events: list[Event]) -> Iterator[schemas.AskStep]:
    model_admin = admin_of(queue)
    for step in model_admin.page.story.steps(events, model_admin.failures, model_admin.states.labels)[:MOST_STEPS]:
        yield {
            "at": step.event.created_at.isoformat(),
            "sentence": masked(step.sentence),
            "state": step.state,
            "message": masked(step.message),
            "error_code": masked(step.error_code),
            "error_message": masked(step.error_message),
        }


def show_actions(caller: Caller, queue: Queue, row: Any) -> Iterator[schemas.AskAction]:
    entry = entry_of(admin_of(queue), row)
    useless = TRY_AGAIN if entry and entry.is_final else ()
    for action in admin_of(queue).actions:
        if action.name in useless or not action.applies_to(row):
            continue
        has_verb, rows = action.name in VERBS, type(row)._default_manager.filter(pk=row.pk)
        in_reach = caller.may(action.name, queue) and action.operation.within_reach(rows, caller.user).exists()
        others = "an operator in the console" + (", or their key with the scope operate" if has_verb else "")
        yield {
            "name": action.name,
            "title": str(action.title),
            "effect": str(action.effect),
            "verb": action.name if has_verb else None,
            "allowed": has_verb and in_reach,
            "by": "you" if has_verb and in_reach else others,
        }


@verb("List error groups")
def error_groups(caller: Caller, body: schemas.GroupsInput) -> schemas.AskGroups:
    """Failed jobs by what they have in common, the largest group first.

    How many, since when, how many in the last 24 hours, what to do, and whose turn it is.
    """
    groups = [group for queue in caller.queues(body.queue) for group in groups_of(caller, queue, limit=body.limit)]
    return {"groups": sorted(groups, key=lambda group: -group["count"])[: body.limit]}


def groups_of(caller: Caller, queue: Queue, *, limit: int) -> Iterator[schemas.AskGroup]:
    name, scopes = queue.table.queue, queue.scopes_seen_by(caller.user)
    example = queue.failures.example(queue.model._meta.db_table)
    groups = ErrorGroup.objects.largest(queue=name, scopes=scopes, limit=limit, example=example)
    trends = ErrorGroup.objects.trend([group.name for group in groups], queue=name, scopes=scopes)
    entries = queue.entries_of(groups)
    for group in groups:
        entry = entries[group.name]
        yield {
            "queue": name,
            "group": group.name,
            "code": group.code,
            "words": entry.label,
            "message": masked(group_message(group)),
            "count": group.total,
            "states": group.states,
            "first_at": group.first_at.isoformat(),
            "last_at": group.last_at.isoformat(),
            "last_day": sum(trends[group.name]),
            "advice": " ".join(entry.sentences()),
            "turn": str(entry.turn.label),
        }


@verb("Show how sites are doing", is_for=lambda _caller: admin.site.is_registered(site_model()))
def site_health(caller: Caller, body: schemas.SitesInput) -> schemas.AskSites:
    """For each site: whether it is paused, and how many conversions are in each state.

    How many are stuck, the share of failures in the last 24 hours, and what is wrong in sentences.
    """
    model_admin: Any = admin.site.get_model_admin(site_model())
    rows = sites().seen_by(caller.user).active().order_by("name", "pk")
    if body.site:
        rows = rows.with_id(body.site) | rows.filter(name__words=body.site)
    listed = list(rows[: body.limit + 1])
    shown = listed[: body.limit]
    model_admin.complete(shown)
    return {"sites": [show_site(site, model_admin.findings(site)) for site in shown], "more": len(listed) > len(shown)}


def show_site(site: Any, findings: list[str]) -> schemas.AskSite:
    return {
        "site_id": site.public_id,
        "name": site.name,
        "is_paused": site.is_paused,
        "pause_reason": masked(site.pause_reason),
        "counts": +site.health.totals,
        "waiting": site.health.waiting,
        "stuck": site.health.stuck,
        "failure_rate": site.health.error_rate,
        "findings": list(map(masked, findings)),
    }


@verb("Count jobs")
def queue_stats(caller: Caller, body: schemas.AskInput) -> schemas.AskQueues:
    """For each queue: how many jobs are in each state, and how many ended well and badly in the last 24 hours.

    Since when the oldest waits, and whether the queue is paused.
    """
    shown = [show_queue(caller, queue) for queue in caller.queues(body.queue)]
    return {"queues": shown, "workers_running": Heartbeat.objects.alive().exists()}


def show_queue(caller: Caller, queue: Queue) -> schemas.AskQueue:
    name, scopes = queue.table.queue, queue.scopes_shown_to(caller.user)
    counts = Count.objects.by_state(queue=name, scopes=scopes)
    hours = Count.objects.last_day(queue=name, well=queue.well, badly=queue.badly, scopes=scopes)
    oldest, pause = queue.oldest_row(caller.user), QueuePause.objects.of(queue.table).first()

    def number(kind: Kind) -> int:
        return sum(counts[state] for state in queue.table.of_kind(kind))

    return {
        "queue": name,
        "title": str(queue.title),
        "counts": counts,
        "waiting": number(Kind.WAITING),
        "in_progress": number(Kind.HELD),
        "done": number(Kind.DONE),
        "failed": number(Kind.FAILED),
        "ended_well": sum(hour.well for hour in hours),
        "ended_badly": sum(hour.badly for hour in hours),
        "oldest_waiting_since": oldest.since.isoformat() if oldest else None,
        "is_paused": pause is not None,
        "paused_by": actor_in_words(pause.paused_by) if pause else "",
        "pause_reason": masked(pause.reason) if pause else "",
    }
