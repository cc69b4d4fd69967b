"""Scrubbing: what identifies a person is removed from texts, such as errors, notes and reasons.

Each app registers the columns into which people or other systems may have written it. Tables that only people and
requests fill are read as a whole; texts about a job, its events among them, are found by the job's id. Besides the jobs
given, these are the jobs that a person moved for a reason in which the identifier is found. `jobs_quoting` finds all
others, by reading every text about a job.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.contrib.postgres.fields import ArrayField
from django.db.models import BooleanField, CharField, F, Func, JSONField, Model, Q, QuerySet, TextField, Value
from django.db.models.functions import Cast, Collate, Lower
from django.db.models.lookups import IRegex

from kilit.database.sql import read_row
from kilit.lock.models import Activity, ErrorDelta, ErrorGroup, Event
from kilit.lock.triggers import erasing

HIDDEN = "…"  # one character, so that no text grows beyond its column
# A shorter id is replaced only where it is a word of its own.
LONG_ID = 16
# Texts are cut to their columns' lengths, perhaps in the middle of an id; what begins like one is removed, too.
CUT_ID = 24
ANY_EMAIL = r"[\w.%+-]+(?:@|%40)[\w-]+\.[\w.-]*\w"
BATCH = 5000  # texts that one statement reads
ESTIMATE = "SELECT sum(greatest(reltuples, 0)) FROM pg_class WHERE oid = ANY(%s::regclass[])"
BACKSLASHED = '"\\/'  # by JSON
# Between the digits of a phone number, also in an address.
BETWEEN = r"(?:%20|[\s()./+-]){0,2}"
PLUS = r"(?:\+|%2B|\\+u002B|00)"
ANY_PHONE = r"(?:\+|%2B)[1-9](?:[\s()./-]{0,2}\d){6,14}(?!\d)"

Rows = QuerySet[Any]


@dataclass(frozen=True)
class FreeText:
    """Columns with free text, and how rows are found that are about some jobs."""

    model: type[Model]
    columns: tuple[str, ...]
    # Given ids of jobs; without it, the table is read as a whole.
    about: Callable[[Collection[UUID]], Q] | None = None
    # The opposite: given rows, the jobs that they are about.
    jobs: Callable[[Rows], Iterable[UUID | None]] | None = None
    # Given rows whose text is changed, queries for the ids of jobs whose events repeat it.
    repeated_at: Callable[[Rows], Iterable[Iterable[UUID]]] | None = None


_free_texts: list[FreeText] = []
_scrubbers: list[Callable[[re.Pattern[str]], None]] = []


def register_free_texts(*texts: FreeText) -> None:
    _free_texts.extend(texts)


def register_scrubber(scrub_all: Callable[[re.Pattern[str]], None]) -> None:
    """Declare what removes identifiers from texts that SQL cannot read."""
    _scrubbers.append(scrub_all)


def free_texts() -> list[FreeText]:
    own = [FreeText(model, ("code", "shape")) for model in (ErrorGroup, ErrorDelta)]
    return [FreeText(Activity, ("message", "object_name")), *own, *_free_texts]


def id_pattern(text: str) -> str:
    """Return an expression for an id as it may stand in a text, in JSON or in an address. PostgreSQL reads it, too."""
    if len(text) < LONG_ID:
        return rf"(?<![\w-]){spelling(text)}(?![\w-])"
    cut = rf"|{spelling(text[:CUT_ID])}[\w-]*(?=[\"…]|$)" if len(text) > CUT_ID else ""
    return spelling(text) + cut


def spelling(text: str) -> str:
    """Return an expression for a text whose characters may be escaped, as in an address or in JSON."""
    return "".join(char if char.isascii() and char.isalnum() else _escapes(char) for char in text)


def _escapes(char: str) -> str:
    units = char.encode("utf-16-be").hex()
    forms = [
        re.escape(char),
        "".join(f"%{byte:02X}" for byte in char.encode()),
        "".join(rf"\\+u{units[at : at + 4]}" for at in range(0, len(units), 4)),
    ]
    if char in BACKSLASHED:
        forms.append(r"\\+" + re.escape(char))
    if char == " ":
        forms.append(r"\+")
    return f"(?:{'|'.join(forms)})"


def email_pattern(address: str) -> str:
    return rf"(?<![\w.+-]){spelling(address)}(?![\w-]|\.\w)"


def phone_pattern(country: str, national: str) -> str:
    digits = BETWEEN.join(national)
    return rf"(?<!\d)(?:{PLUS}?{country}{BETWEEN})?(?:0{BETWEEN})?{digits}(?!\d)"


def run_of(text: str) -> str:
    """Return the longest letters and digits that stand together in every spelling of an id or address, also cut off."""
    return max(re.split(r"[^A-Za-z0-9]", text[:CUT_ID]), key=len).lower()


def jobs_quoting(runs: Mapping[str, str]) -> Iterator[set[UUID]]:
    """Read all texts about jobs, and yield the jobs whose texts match, a batch at a time. Nothing is locked.

    Each expression comes with what stands in every match (`run_of`), or nothing: that is searched for first, because
    an expression takes PostgreSQL twenty times as long.
    """
    pattern = "|".join(runs)
    events = FreeText(Event, ("message", "details"), jobs=lambda rows: rows.values_list("object_id", flat=True))
    for text in [events, *free_texts()] if runs else ():
        if text.jobs is None:
            continue
        for rows in _batches(text.model._base_manager.order_by("pk")):
            ids = list(rows.filter(_may_match(text.columns, runs)).values_list("pk", flat=True))
            matching = text.model._base_manager.filter(_matches(*text.columns, pattern=pattern), pk__in=ids)
            if jobs := {job for job in text.jobs(matching) if job} if ids else ():
                yield jobs


def _may_match(columns: Iterable[str], runs: Mapping[str, str]) -> Q:
    likely = Q()
    texts = [f"%{run}%" for run in runs.values() if run]
    rest = "|".join(pattern for pattern, run in runs.items() if not run)
    for name in columns:
        column = Cast(name, TextField())
        likely |= Q(LikeAny(Lower(Collate(column, "C")), Value(texts, ArrayField(TextField()))))
        likely |= Q(IRegex(column, rest)) if rest else Q()
    return likely


class LikeAny(Func):
    template = "%(expressions)s)"
    arg_joiner = " LIKE ANY("
    output_field = BooleanField()


def _batches(rows: Rows) -> Iterator[Rows]:
    ahead = rows
    while (last := ahead.values_list("pk", flat=True)[BATCH - 1 : BATCH].first()) is not None:
        yield ahead.filter(pk__lte=last)
        ahead = rows.filter(pk__gt=last)  # of all rows: conditions would add up
    yield ahead


def estimate_texts() -> int:
    tables = [Event._meta.db_table, *(text.model._meta.db_table for text in free_texts() if text.jobs)]
    return int(read_row(ESTIMATE, [tables])[0])


def scrub(patterns: Collection[str], *, objects: Collection[UUID]) -> None:
    """Remove what the expressions match from all texts, and from events and messages of the jobs given.

    Needs a transaction.
    """
    if not patterns:
        return
    scrub_jobs(patterns, objects={*objects, *_jobs_with_reason("|".join(patterns))})
    scrub_tables(patterns)


def scrub_tables(patterns: Collection[str]) -> None:
    """Remove what the expressions match from tables that are read as a whole. Needs a transaction."""
    pattern = "|".join(patterns)
    with erasing():
        for text in free_texts():
            if text.about is None:
                _replace(text.model._base_manager.all(), text.columns, pattern)
    for scrub_all in _scrubbers:
        scrub_all(re.compile(pattern, re.IGNORECASE))


def scrub_jobs(patterns: Collection[str], *, objects: Collection[UUID]) -> None:
    """Remove what the expressions match from the texts of some jobs. Needs a transaction."""
    pattern = "|".join(patterns)
    with erasing():
        _replace(Event.objects.filter(object_id__in=objects), ("message", "details"), pattern)
        for text in free_texts():
            if text.about is not None:
                rows = text.model._base_manager.filter(text.about(objects), _matches(*text.columns, pattern=pattern))
                # In the order in which others lock them.
                ids = list(rows.order_by("pk").select_for_update(no_key=True).values_list("pk", flat=True))
                _replace(text.model._base_manager.filter(pk__in=ids), text.columns, pattern)


def scrub_addresses(objects: Collection[UUID]) -> None:
    """Remove all e-mail addresses and phone numbers from the texts of some jobs. Needs a transaction."""
    scrub_jobs([ANY_EMAIL, ANY_PHONE], objects=objects)


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
    condition = Q()
    for name in columns:
        condition |= Q(IRegex(Cast(name, TextField()), pattern))
    return condition


def _replace(rows: Rows, columns: tuple[str, ...], pattern: str) -> int:
    changes = {name: _replaced(rows.model, name, pattern) for name in columns}
    return rows.filter(_matches(*columns, pattern=pattern)).update(**changes)


def _replaced(model: type[Model], name: str, pattern: str) -> object:
    field = model._meta.get_field(name)
    text = F(name) if isinstance(field, CharField | TextField) else Cast(name, TextField())
    erased = Func(text, Value(pattern), Value(HIDDEN), Value("gi"), function="regexp_replace", output_field=TextField())
    return Cast(erased, JSONField()) if isinstance(field, JSONField) else erased
