"""Scrubbing: what identifies a person is removed from texts, such as errors, notes and reasons.

Each app registers the columns into which people or other systems may have written it. Tables that only people and
requests fill are read as a whole; texts about a job, its events among them, are found by the job's id. Besides the jobs
given, these are the jobs that a person moved for a reason in which the identifier is found.
"""

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, quote_plus
from uuid import UUID

from django.db.models import CharField, F, Func, JSONField, Model, Q, QuerySet, TextField, Value
from django.db.models.functions import Cast
from django.db.models.lookups import IRegex

from kilit.lock.erasing import erasing
from kilit.lock.models import Activity, ErrorDelta, ErrorGroup, Event

HIDDEN = "…"  # one character, so that no text grows beyond its column
# A shorter id is replaced only where it is a word of its own.
LONG_ID = 16
# Texts are cut to their columns' lengths, perhaps in the middle of an id; what begins like one is removed, too.
CUT_ID = 24
ANY_EMAIL = r"[\w.%+-]+(?:@|%40)[\w-]+\.[\w.-]*\w"
ANY_PHONE = r"(?:\+|%2B)[1-9](?:[\s()./-]{0,2}\d){6,14}(?!\d)"

Rows = QuerySet[Any]


@dataclass(frozen=True)
class FreeText:
    """Columns with free text, and how rows are found that are about some jobs."""

    model: type[Model]
    columns: tuple[str, ...]
    # Given ids of jobs; without it, the table is read as a whole.
    about: Callable[[Collection[UUID]], Q] | None = None
    # Given rows whose text is changed, queries for the ids of jobs whose events repeat it.
    repeated_at: Callable[[Rows], Iterable[Iterable[UUID]]] | None = None


_free_texts: list[FreeText] = []
_scrubbers: list[Callable[[re.Pattern[str]], None]] = []


def register_free_text(model: type[Model], *columns: str, **options: Any) -> None:
    """Declare columns from which identifiers are removed; called from an app's `ready()`."""
    _free_texts.append(FreeText(model, columns, **options))


def register_scrubber(scrub_all: Callable[[re.Pattern[str]], None]) -> None:
    """Declare what removes identifiers from texts that SQL cannot read."""
    _scrubbers.append(scrub_all)


def free_texts() -> list[FreeText]:
    own = [FreeText(model, ("shape",)) for model in (ErrorGroup, ErrorDelta)]
    return [FreeText(Activity, ("message", "object_name")), *own, *_free_texts]


def id_pattern(text: str) -> str:
    """Return an expression for an id as it may stand in a text, in JSON or in an address. PostgreSQL reads it, too."""
    spellings = {
        text,
        quote(text),
        quote_plus(text),
        *(json.dumps(text, ensure_ascii=way)[1:-1] for way in (True, False)),
    }
    return "|".join(map(_spelling, sorted(spellings)))


def _spelling(text: str) -> str:
    if len(text) < LONG_ID:
        return rf"(?<![\w-]){re.escape(text)}(?![\w-])"
    cut = rf"|{re.escape(text[:CUT_ID])}[\w-]*(?=[\"…]|$)" if len(text) > CUT_ID else ""
    return re.escape(text) + cut


def email_pattern(address: str) -> str:
    return "|".join(rf"(?<![\w.+-]){re.escape(text)}(?![\w-]|\.\w)" for text in sorted({address, quote(address)}))


def phone_pattern(country: str, national: str) -> str:
    """Return an expression for a number with or without its country code, and with usual separators."""
    between = r"[\s()./-]{0,2}"
    digits = between.join(national)
    return rf"(?<!\d)(?:(?:\+|%2B|00){country}{between})?(?:0{between})?{digits}(?!\d)"


def scrub(patterns: Collection[str], *, objects: Collection[UUID]) -> None:
    """Remove what the expressions match from all texts, and from events and messages of the jobs given.

    Needs a transaction.
    """
    if not patterns:
        return
    pattern = "|".join(patterns)
    jobs = {*objects, *_jobs_with_reason(pattern)}
    with erasing():
        _scrub_jobs(pattern, jobs)
        for text in free_texts():
            if text.about is None:
                _replace(text.model._base_manager.all(), text.columns, pattern)
    for scrub_all in _scrubbers:
        scrub_all(re.compile(pattern, re.IGNORECASE))


def scrub_addresses(objects: Collection[UUID]) -> None:
    """Remove all e-mail addresses and phone numbers from the texts of some jobs. Needs a transaction."""
    with erasing():
        _scrub_jobs(f"{ANY_EMAIL}|{ANY_PHONE}", objects)


def _scrub_jobs(pattern: str, objects: Collection[UUID]) -> None:
    _replace(Event.objects.filter(object_id__in=objects), ("message", "details"), pattern)
    for text in free_texts():
        if text.about is not None:
            _replace(text.model._base_manager.filter(text.about(objects)), text.columns, pattern)


def _jobs_with_reason(pattern: str) -> Iterator[UUID]:
    """Return the jobs that were moved, one by one or by the thousand, for a reason that matches."""
    reasons = Activity.objects.filter(_matches("message", pattern=pattern), first_event__isnull=False)
    for events in reasons.values_list("first_event", "last_event"):
        yield from Event.objects.filter(pk__range=events).values_list("object_id", flat=True)
    for text in free_texts():
        if text.repeated_at is None:
            continue
        for ids in text.repeated_at(text.model._base_manager.filter(_matches(*text.columns, pattern=pattern))):
            yield from ids


def _matches(*columns: str, pattern: str) -> Q:
    found = Q()
    for name in columns:
        found |= Q(IRegex(Cast(name, TextField()), pattern))
    return found


def _replace(rows: Rows, columns: tuple[str, ...], pattern: str) -> int:
    changes = {name: _replaced(rows.model, name, pattern) for name in columns}
    return rows.filter(_matches(*columns, pattern=pattern)).update(**changes)


def _replaced(model: type[Model], name: str, pattern: str) -> Any:
    field = model._meta.get_field(name)
    text = F(name) if isinstance(field, CharField | TextField) else Cast(name, TextField())
    erased = Func(text, Value(pattern), Value(HIDDEN), Value("gi"), function="regexp_replace", output_field=TextField())
    return Cast(erased, JSONField()) if isinstance(field, JSONField) else erased
