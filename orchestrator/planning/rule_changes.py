"""Compares two versions of the rules, tries a new one on held jobs, and adds an entry to a version's text."""

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from itertools import accumulate

from kilit.api.json_reader import parse_json
from orchestrator.errors import Code, JobError
from orchestrator.models import Job
from orchestrator.orders.order import order_from
from orchestrator.planning.plan import MissingRule, transform
from orchestrator.schemas.rules import Rules
from orchestrator.states import JobState

# Reasons for HOLD that other rules can remove.
HELD_BY_RULES = (Code.PLATE_SIZE_MISSING, Code.BACKING_THICKNESS_UNKNOWN, Code.TRIM_RULE_MISSING)
JOBS_TRIED, PARTS_TRIED = 50, 10_000  # the oldest; an order may have thousands of parts
NUMBER = re.compile(r"[0-9]{1,6}([.,][0-9]{1,4})?", re.ASCII)


@dataclass(frozen=True)
class RuleChange:
    """An entry as it is and as it would be; an empty text if it is not there."""

    path: str
    before: str
    after: str


def changes(before: str, after: str) -> list[RuleChange]:
    """Return what differs in content; the layout does not count."""
    old, new = dict(_entries(before)), dict(_entries(after))
    paths = dict.fromkeys([*old, *new])
    return [RuleChange(path, old.get(path, ""), new.get(path, "")) for path in paths if old.get(path) != new.get(path)]


def _entries(text: str) -> Iterator[tuple[str, str]]:
    try:
        content = parse_json(text.encode())
    except (ValueError, RecursionError):
        return  # nothing can be compared with an invalid file
    for name, value in content.items() if isinstance(content, dict) else ():
        if isinstance(value, dict):
            yield from ((f"{name}.{key}", _written(inner)) for key, inner in value.items())
        else:
            yield name, _written(value)


def _written(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=lambda number: float(number) if number % 1 else int(number))


@dataclass(frozen=True)
class TriedJob:
    job: Job
    error: str  # empty if the rules let it pass


def try_on_held_jobs(rules: Rules) -> list[TriedJob]:
    """Return what would become of the oldest jobs that wait for other rules, as many as take no time."""
    held = Job.objects.filter(status=JobState.HOLD, error_code__in=HELD_BY_RULES).order_by("pk")
    sizes = list(held.values_list("pk", "part_count")[:JOBS_TRIED])
    totals = accumulate(size for _, size in sizes)
    tried = [pk for (pk, _), total in zip(sizes, totals, strict=True) if total <= PARTS_TRIED]
    return [TriedJob(job, _error(job, rules)) for job in held.filter(pk__in=tried)]


def _error(job: Job, rules: Rules) -> str:
    try:
        transform(order_from(job.payload), rules)
    except JobError as error:
        return error.message
    return ""


def with_entry(text: str, missing: MissingRule, value: str) -> str:
    """Return the text with an entry added at the beginning of its section; unchanged if that cannot be done."""
    number = value.strip().replace(",", ".")
    if missing.section == "backingThicknesses":
        opening, entry = r"\[", missing.entry
    elif NUMBER.fullmatch(number):
        opening, entry = r"\{", f"{json.dumps(missing.entry, ensure_ascii=False)}: {_written(Decimal(number))}"
    else:
        return text
    start = re.search(rf'"{missing.section}"\s*:\s*{opening}', text)
    if start is None:
        return text
    rest = text[start.end() :]
    added = text[: start.end()] + entry + ("" if rest.lstrip()[:1] in "]}" else ", ") + rest
    with suppress(ValueError):
        parse_json(added.encode())
        return added
    return text
