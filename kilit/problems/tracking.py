"""The sweep that keeps the records of problems: it looks once a minute, opens, updates and closes.

It looks once for the whole installation, and once for each user who visits the console or gets alerts and is no
owner, so that texts and counts contain only what that user may see. It looks in each language, so that a channel gets
its own.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import transaction
from django.db.models.functions import Now
from django.dispatch import Signal
from django.utils import translation
from django.utils.text import Truncator

from kilit.access.roles import is_owner
from kilit.masking import mask_personal_data
from kilit.problems.models import ProblemRecord
from kilit.problems.registry import Place, Problem, SeesEverything, find_problems, number

if TYPE_CHECKING:
    from django.contrib.auth.models import User

LONGEST_TEXT = 300
VISITED_WITHIN = timedelta(days=30)
# Sent after each round; the alerts are made then.
problems_tracked = Signal()

Records = dict[str, ProblemRecord]  # by their key
Readers = Callable[[], "Iterable[User]"]
readers: list[Readers] = []


def register_readers(source: Readers) -> None:
    """Register people whose problems have records of their own, besides those of the whole installation."""
    readers.append(source)


def recent_visitors() -> "Iterable[User]":
    """Return who may read the history of their own problems."""
    recent = get_user_model().objects.filter(is_active=True, is_staff=True, last_login__gt=Now() - VISITED_WITHIN)
    return (user for user in recent if user.has_perm("problems.view_problemrecord"))


def track_problems() -> str:
    """Look for problems, and update their records."""
    people = {user.pk: user for source in readers for user in source() if not is_owner(user)}
    records: dict[int | None, Records] = defaultdict(dict)
    for record in ProblemRecord.objects.open():
        records[record.reader_id][record.key] = record
    opened = closed = 0
    for reader in (None, *people.values()):
        numbers = track(reader, records[reader.pk if reader else None])
        opened, closed = opened + numbers[0], closed + numbers[1]
    if gone := records.keys() - people.keys() - {None}:
        ProblemRecord.objects.open().filter(reader__in=gone).close_unseen()
    problems_tracked.send(sender=None)
    return f"Opened {opened}, closed {closed}."


def track(reader: "User | None", records: Records) -> tuple[int, int]:
    """Update the open records of one reader; return how many were opened and closed."""
    looks = {settings.LANGUAGE_CODE: _look(reader, settings.LANGUAGE_CODE)}
    seen = looks[settings.LANGUAGE_CODE]
    present = {*seen, *(key for problem in seen.values() for key in problem.stands_for)}
    mine = ProblemRecord.objects.open().filter(reader=reader)
    if all(_is_recorded(records.get(key), _columns(key, looks)) for key in seen):
        if records.keys() <= present:  # mostly: nothing is opened, changed or closed
            mine.filter(key__in=present).update(seen_at=Now())
            return 0, 0
    else:
        looks |= {language: _look(reader, language) for language in _languages() - looks.keys()}
    with transaction.atomic():
        known = {record.key: record for record in mine.select_for_update().order_by("pk")}
        new = [ProblemRecord(reader=reader, key=key, **_columns(key, looks)) for key in seen if key not in known]
        # Another tracker may have opened one meanwhile; the constraint lets one through.
        ProblemRecord.objects.bulk_create(new, ignore_conflicts=True)
        for key, record in known.items():
            if key in seen:
                _update(record, _columns(key, looks))
        mine.filter(key__in=present).update(seen_at=Now())
        return len(new), mine.close_unseen()


def _is_recorded(record: ProblemRecord | None, columns: dict[str, object]) -> bool:
    """Return whether a problem is recorded just so, in each language."""
    return record is not None and _languages() <= record.texts.keys() and not _changes(record, columns)


def _languages() -> set[str]:
    return {language for language, _name in settings.LANGUAGES}


def _look(reader: "User | None", language: str) -> dict[str, Problem]:
    with translation.override(language):
        return {problem.key: problem for problem in find_problems(reader or SeesEverything())}


def _columns(key: str, looks: Mapping[str, Mapping[str, Problem]]) -> dict[str, object]:
    problem = looks[settings.LANGUAGE_CODE][key]
    return {
        "part": problem.part,
        "kind": problem.kind,
        "severity": problem.severity.value,
        "count": problem.count,
        # A problem that appeared between two looks has no text in the second language until the next minute.
        "texts": {language: _texts(look[key], language) for language, look in looks.items() if key in look},
        "scopes": [place.scope for place in problem.where if place.scope],
        "has_more_scopes": problem.beyond > 0 and any(place.scope for place in problem.where),
        "link": problem.link,
        "since": problem.since,
    }


def _update(record: ProblemRecord, columns: dict[str, object]) -> None:
    if changes := _changes(record, columns):
        ProblemRecord.objects.filter(pk=record.pk).update(**changes)


def _changes(record: ProblemRecord, columns: dict[str, Any]) -> dict[str, object]:
    """Return the columns that differ; languages that were not looked at stay as they are."""
    wanted = {**columns, "texts": {**record.texts, **columns["texts"]}}
    return {name: value for name, value in wanted.items() if getattr(record, name) != value}


def _texts(problem: Problem, language: str) -> dict[str, object]:
    with translation.override(language):
        return texts_to_send(problem)


def texts_to_send(problem: Problem) -> dict[str, object]:
    """Return what leaves the console: no names of customers, and phones and addresses in free text masked."""
    named = [place for place in problem.where if not place.is_personal]
    beyond = problem.beyond + len(problem.where) - len(named) if named else 0
    return {
        "title": _masked(problem.title),
        "cause": "" if problem.is_cause_personal else _masked(problem.cause),
        "code": problem.code,
        "advice": problem.advice,
        "where": [_masked(_place(place)) for place in named],
        "beyond": beyond,
    }


def _place(place: Place) -> str:
    return f"{place.name} ({number(place.count)})" if place.count else place.name


def _masked(text: str) -> str:
    # Labels of choices are translated only now.
    return Truncator(mask_personal_data(str(text))).chars(LONGEST_TEXT)
