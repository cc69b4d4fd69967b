"""A job's timeline: one sentence for each event, newest first, with the time since the event before."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import pairwise
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django_stubs_ext import StrOrPromise

from kilit.batches.queues import queues
from kilit.console.formatting import duration, with_code, with_local_times
from kilit.lock.audit import actor_in_words
from kilit.lock.failures import Failures
from kilit.lock.models import Event
from kilit.sites.people import KEYS_USERS

Sentences = Mapping[str, StrOrPromise]

SECOND = timedelta(seconds=1)
# Rows come by keys of people and sites; only what happens then is reported by a machine of the queue that has a key.
ADDED = ("JOB_CREATED", "ADJUSTMENT_ADDED", "import")
# Of verbs and event types that mean the same in every queue.
COMMON: Sentences = {
    "claim": gettext_lazy("Claimed by %(who)s"),
    "retry": gettext_lazy("Retried by %(who)s"),
    "retry_selected": gettext_lazy("Retried by %(who)s"),
    "undo_retry": gettext_lazy("Retry taken back by %(who)s"),
    "mark_failed": gettext_lazy("Marked failed by %(who)s"),
    "fail": gettext_lazy("Failed, as reported by %(who)s"),
    "retry_later": gettext_lazy("The attempt failed, as reported by %(who)s"),
    "recover": gettext_lazy("Taken back by %(who)s"),
    "pause": gettext_lazy("Queue paused by %(who)s"),
    "resume": gettext_lazy("Queue resumed by %(who)s"),
    "priority_low": gettext_lazy("Priority set to low by %(who)s"),
    "priority_normal": gettext_lazy("Priority set to normal by %(who)s"),
    "priority_high": gettext_lazy("Priority set to high by %(who)s"),
    "priority_urgent": gettext_lazy("Priority set to urgent by %(who)s"),
}


@dataclass(frozen=True)
class Story:
    """How a queue tells its events: sentences by verb or event type, with %(who)s where the actor matters.

    A queue names those that are not common, or differ.
    """

    sentences: Sentences = field(default_factory=dict)
    actors: Sentences = field(default_factory=dict)  # by the first part of the actor's name
    attempts: str = ""  # the recorded column that counts attempts
    first_attempt: int = 1  # its value in the first attempt
    # By event type: what follows the sentence, such as a link to another row.
    links: Mapping[str, Callable[[Event], Any]] = field(default_factory=dict)

    def steps(
        self, events: Iterable[Event], failures: Failures | None = None, labels: Sentences | None = None
    ) -> list["TimelineStep"]:
        """Return the steps of a timeline that is given oldest first, newest first; `labels` are those of states."""
        pairs = [(before, event) for before, event in pairwise([None, *events]) if event]
        return [self._step(event, before, failures, labels or {}) for before, event in reversed(pairs)]

    def who(self, actor: str) -> str:
        return actor_in_words(actor, self.actors)

    def sentence(self, actor: str, *names: str) -> str:
        """Return what an actor did, by the first of some names that is known: a verb, an event type."""
        sentences = {**COMMON, **self.sentences}
        name = next((name for name in names if name in sentences), "")
        who = _sender(actor) if name in ADDED else self.who(actor)
        return str(sentences[name]) % {"who": who} if name else ""

    def _step(self, event: Event, before: Event | None, failures: Failures | None, labels: Sentences) -> "TimelineStep":
        moved = event.from_state != event.to_state
        is_failure = event.details.get("verb") == "retry_later" or (failures and event.to_state in failures.states)
        failed = failures if moved and is_failure else None
        return TimelineStep(
            " · ".join(self._parts(event, before, labels)),
            state=str(labels.get(event.to_state, event.to_state)) if moved else "",
            message=with_local_times(event.message),
            error_code=event.details.get(failed.code, "") if failed else "",
            error_message=with_local_times(event.details.get(failed.message, "")) if failed else "",
            event=event,
            link=self.links[event.event_type](event) if event.event_type in self.links else "",
        )

    def _parts(self, event: Event, before: Event | None, labels: Sentences) -> Iterator[str]:
        verb = event.details.get("verb", "")
        if text := self.sentence(event.actor, verb, event.event_type):
            yield text
        elif not event.from_state:
            yield _("Created by %(who)s") % {"who": self.who(event.actor)}
        elif event.from_state == event.to_state:
            yield _("%(what)s by %(who)s") % {"what": event.event_type, "who": self.who(event.actor)}
        else:
            state = labels.get(event.to_state, event.to_state)
            yield _("Moved to “%(state)s” by %(who)s") % {"state": state, "who": self.who(event.actor)}
        if verb == "claim" and self.attempts in event.details:
            number = event.details[self.attempts] - self.first_attempt + 1
            yield _("attempt %(number)s") % {"number": number}
        if before and (span := event.created_at - before.created_at) >= SECOND:
            yield _("%(span)s later") % {"span": duration(span)}


@dataclass(frozen=True)
class TimelineStep:
    sentence: str
    state: str  # that the job moved to, if it moved, in words
    message: str
    error_code: str
    error_message: str
    event: Event
    link: Any = ""

    @property
    def error(self) -> str:
        """Return the error in words, and its code small beside them."""
        queue = queues.get(self.event.queue)
        return with_code(queue.words(self.error_code, self.event.to_state) if queue else "", self.error_code)

    @property
    def details(self) -> list[tuple[str, Any]]:
        """What was recorded, with the names of the API and of the columns."""
        event = self.event
        moved = f"{event.from_state} → {event.to_state}".removeprefix(" → ")
        recorded = {"event": event.event_type, "state": moved, "actor": event.actor, **event.details}
        return [(name, _joined(value)) for name, value in recorded.items() if value not in (None, "", [], {})]


def _sender(actor: str) -> str:
    is_of_site = re.match(KEYS_USERS, actor.removeprefix("key:"))
    return _("an API key of the site") if is_of_site else actor_in_words(actor)


def _joined(value: object) -> object:
    text = ", ".join(map(str, value)) if isinstance(value, list) else value
    return with_local_times(text) if isinstance(text, str) else text
