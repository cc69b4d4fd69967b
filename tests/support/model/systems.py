"""The jobs that are searched, and tables with one guard less."""

from dataclasses import replace
from typing import Any

from kilit.batches.states import BULK_ACTIONS, BulkState
from kilit.lock.management.commands.lifecycle_docs import lifecycle_models
from kilit.lock.table import By, Kind, Lifecycle, Move, move
from ociqueue.states import ADJUSTMENTS, CONVERSIONS, IMPORTS
from orchestrator.states import JOBS, JobState
from outbox.states import MESSAGES, OFF, ON
from tests.support.model.search import System

Kinds = dict[str, Any]  # of states

# People switch an endpoint. A worker also switches off what has failed for days, on which no message may rely.
ENDPOINTS = Lifecycle(
    "endpoint",
    states=[ON, OFF],
    initial=[ON],
    moves={
        "switch_off": move(ON, to=OFF, by=By.OPERATOR),
        "switch_on": move(OFF, to=ON, by=By.OPERATOR),
    },
)


def with_moves(table: Lifecycle, *, with_people: bool = True, **moves: Move | dict[str, Any] | None) -> Lifecycle:
    """Return a table in which some moves are others: with these changes, or gone."""
    changed = {**table.moves}
    for verb, change in moves.items():
        if change is None:
            del changed[verb]
        else:
            changed[verb] = replace(changed[verb], **change) if isinstance(change, dict) else change
    kinds: Kinds = {kind.value: table.of_kind(kind) for kind in Kind} if table.kinds else {}
    return Lifecycle(
        table.queue,
        states=table.states,
        initial=table.initial,
        moves=changed,
        known_by=table.known_by,
        with_people=table.with_people if with_people else {},
        **kinds,
    )


def batch(table: Lifecycle) -> Lifecycle:
    """Return a table of batch jobs with kinds of states: people see all that do not run."""
    rest = [state for state in table.terminal() if state != BulkState.DONE]
    running = [state for state in table.states if state not in (*table.terminal(), BulkState.READY)]
    return Lifecycle(
        table.queue,
        states=table.states,
        initial=table.initial,
        moves=table.moves,
        held=running,
        failed=[BulkState.READY, *rest],
        done=[BulkState.DONE],
    )


def section(table: Lifecycle, *states: str, done: str) -> Lifecycle:
    """Return a part of a table: its first state is that of new rows, and the last its end."""
    before = [state for state in states if state != done]
    inside = {
        verb: replace(move, sources=tuple(source for source in move.sources if source in before))
        for verb, move in table.moves.items()
        if move.target in states and set(move.sources) & set(before)
    }
    kinds: Kinds = {kind.value: [state for state in table.of_kind(kind) if state in before] for kind in Kind}
    kinds[Kind.DONE].append(done)
    return Lifecycle(table.queue, states=states, initial=states[:1], moves=inside, known_by=table.known_by, **kinds)


SLOT = section(
    JOBS,
    *(JobState.OPTI_IMPORTED, JobState.OPTI_RUNNING, JobState.OPTI_DONE, JobState.FAILED),
    done=JobState.OPTI_DONE,
)


def retracted(conversions: Lifecycle = CONVERSIONS, adjustments: Lifecycle = ADJUSTMENTS) -> System:
    """Return a conversion, and a retraction that arrives at any time."""
    relations = {(0, "adjustments"): 1, (1, "original"): 0}
    return System((conversions, adjustments), relations, born_later={1: {0: "retracted"}}, has_outside=False)


def sent_to_endpoint(messages: Lifecycle = MESSAGES) -> System:
    return System((messages, ENDPOINTS), {(0, "endpoint"): 1})


def in_slot(jobs: Lifecycle = SLOT) -> System:
    return System((jobs, jobs), single=frozenset({JobState.OPTI_RUNNING}))


SYSTEMS = {
    **{
        model.lifecycle.queue: System((model.lifecycle,))
        for model in lifecycle_models()
        if model.lifecycle.kinds and model._meta.app_label != "parcels"  # which are carried as often as a test likes
    },
    "bulk action": System((batch(BULK_ACTIONS),)),
    "import": System((batch(IMPORTS),)),
    "conversion and retraction": retracted(),
    "message and endpoint": sent_to_endpoint(),
    "two cutting jobs and the slot": in_slot(),
}
