"""The verbs that only read: what is wrong, where a job is and why, and how many there are."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from django.conf import settings
from django.contrib import admin
from django.utils.translation import gettext

from kilit.api.errors import ApiError
from kilit.api.presenter import present
from kilit.api.webhooks import console_url
from kilit.ask import schemas
from kilit.ask.verbs import VERBS, Caller, masked, verb
from kilit.batches.error_entries import ErrorEntry
from kilit.batches.queues import Queue
from kilit.console.jobs.job_page import entry_of, useful_actions
from kilit.console.lists.error_groups import group_message, largest_groups
from kilit.console.queue_admin import admin_of
from kilit.lock.audit import actor_in_words
from kilit.lock.models import Count, Event, QueuePause
from kilit.lock.prefixes import WholeText
from kilit.lock.table import Kind
from kilit.problems.registry import Problem, find_problems
from kilit.problems.tracking import texts_to_send
from kilit.sites.site_model import site_model, sites
from kilit.workers.models import Heartbeat

MOST_STEPS = 20
MOST_MATCHES = 50  # that are looked at when a text finds several jobs
SEVERITIES = {1: "notice", 2: "warning", 3: "error", 4: "critical"}


@verb("List problems")
def problems(caller: Caller, body: schemas.AskInput) -> schemas.AskProblems:
    """What is wrong now: failed and stuck jobs, pauses, rejected accounts, missing workers.

    Each with its cause, what to do about it, how many jobs it concerns and since when. The most harmful come first.
    """
    named = {queue.table.queue for queue in caller.queues(body.queue)} if body.queue else None
    shown = [each for each in find_problems(caller.user) if named is None or each.part in named]
    return {"problems": list(map(show_problem, shown))}


def show_problem(problem: Problem) -> schemas.AskProblem:
    texts, severity = texts_to_send(problem), SEVERITIES[problem.severity]
    link = f"{settings.PUBLIC_URL}{problem.link}" if problem.link else None
    return present(problem, schemas.AskProblem, **texts, queue=problem.part, severity=severity, link=link)


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
    matches, _has_more = caller.find(WholeText(body.job), body.queue, MOST_MATCHES)
    if not matches:
        matches, _has_more = caller.find(body.job, body.queue, MOST_MATCHES)
    if not matches:
        raise ApiError(404, "NOT_FOUND", "There is no such job among those that you see.")
    whole_names = [(queue, row) for queue, row in matches if admin_of(queue).page.name(row) == body.job]
    matches = whole_names if len(whole_names) == 1 else matches
    if len(matches) > 1:
        named = [show_job(*match) for match in matches[: schemas.MOST_NAMED]]
        raise ApiError(409, "AMBIGUOUS", f"This finds {len(matches)} jobs or more. Name one by its id.", matches=named)
    ((queue, row),) = matches
    events, blockers = Event.objects.history(row), admin_of(queue).page.blockers
    hide = partial(masked, hidden=queue.hidden_text(row))
    return {
        "job": show_job(queue, row),
        "blockers": [{"kind": each.kind.value, "sentence": hide(each.sentence)} for each in blockers(row, events)],
        "error": show_error(queue, row),
        "timeline": list(show_steps(queue, events, hide)),
        "actions": list(show_actions(caller, queue, row)),
    }


def show_job(queue: Queue, row: Any) -> schemas.AskJob:
    model_admin, hidden = admin_of(queue), queue.hidden_text(row)
    entry = entry_of(model_admin, row)
    return {
        "id": str(row.pk),
        "queue": queue.table.queue,
        "name": masked(model_admin.page.name(row), hidden),
        "belongs_to": masked(model_admin.page.belongs_to(row), hidden),
        "state": row.status,
        "state_words": str(queue.table.labels[row.status]),
        "error_code": getattr(row, model_admin.failures.code) if entry else None,
        "error_words": entry.label if entry else None,
        "created_at": row.created_at,
        "link": console_url(queue.model, row.pk),
    }


def show_error(queue: Queue, row: Any) -> schemas.AskError | None:
    failures, entry = queue.failures, entry_of(admin_of(queue), row)
    if entry is None:
        return None
    message = masked(getattr(row, failures.message), queue.hidden_text(row))
    shown = show_advice(entry, getattr(row, failures.code), message)
    cause = gettext(entry.cause) if entry.cause else ""
    return {**shown, "cause": cause, "advice": shown["advice"].removeprefix(cause).strip()}


def show_advice(entry: ErrorEntry, code: str, message: str) -> schemas.AskAdvice:
    advice, turn = " ".join(entry.sentences()), str(entry.turn.label)
    return {"code": code, "words": entry.label, "message": message, "advice": advice, "turn": turn}


def show_steps(queue: Queue, events: list[Event], hide: Callable[[object], str]) -> Iterator[schemas.AskStep]:
    model_admin = admin_of(queue)
    for step in model_admin.page.story.steps(events, model_admin.failures, model_admin.states.labels)[:MOST_STEPS]:
        texts = {name: hide(getattr(step, name)) for name in ("sentence", "message", "error_code", "error_message")}
        yield present(step, schemas.AskStep, at=step.event.created_at, **texts)


def show_actions(caller: Caller, queue: Queue, row: Any) -> Iterator[schemas.AskAction]:
    model_admin = admin_of(queue)
    for action in useful_actions(model_admin, row):
        has_verb, rows = action.name in VERBS, model_admin.in_reach(caller.request, [row.pk])
        is_allowed = has_verb and caller.may(action.name, queue) and rows.exists()
        others = "an operator in the console" + (", or their key with the scope operate" if has_verb else "")
        yield {
            "name": action.name,
            "title": str(action.title),
            "effect": str(action.effect),
            "verb": action.name if has_verb else None,
            "allowed": is_allowed,
            "by": "you" if is_allowed else others,
        }


@verb("List error groups")
def error_groups(caller: Caller, body: schemas.GroupsInput) -> schemas.AskGroups:
    """Failed jobs by what they have in common, the largest group first.

    How many, since when, how many in the last 24 hours, what to do, and whose turn it is.
    """
    groups = [group for queue in caller.queues(body.queue) for group in groups_of(caller, queue, limit=body.limit)]
    return {"groups": sorted(groups, key=lambda group: -group["count"])[: body.limit]}


def groups_of(caller: Caller, queue: Queue, *, limit: int) -> Iterator[schemas.AskGroup]:
    groups, trends, entries = largest_groups(queue, caller.user, limit=limit)
    for group in groups:
        yield present(
            group,
            schemas.AskGroup,
            queue=queue.table.queue,
            group=group.name,
            count=group.total,
            last_day=sum(trends[group.name]),
            **show_advice(entries[group.name], group.code, masked(group_message(group))),
        )


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
    return present(
        site.health,
        schemas.AskSite,
        site_id=site.public_id,
        name=site.name,
        is_paused=site.is_paused,
        pause_reason=masked(site.pause_reason),
        counts=+site.health.totals,
        failure_rate=site.health.error_rate,
        findings=list(map(masked, findings)),
    )


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
