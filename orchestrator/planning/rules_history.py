"""Saves the rules with their history, and shows what a new version would change.

Runners read the file before every job, so it is replaced as a whole, by renaming. The database records each version in
the same transaction; if that is lost after the file was replaced, the file shows as changed outside the console.
"""

import hashlib
import json
import re
import socket
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from itertools import accumulate
from pathlib import Path

from django.db import connection, transaction

from kilit.api.json_reader import parse_json
from kilit.files import write_atomically
from kilit.lock.audit import current_context
from kilit.lock.models import Activity, ActivityKind
from orchestrator import sentences
from orchestrator.errors import RULE_CODES, JobError
from orchestrator.folders import read_bounded
from orchestrator.models import Job, RulesVersion
from orchestrator.models.job import JobQuerySet
from orchestrator.orders.order import order_from
from orchestrator.planning.plan import MissingRule, missing_rules, transform
from orchestrator.planning.rules import (
    BIGGEST_FILE,
    InvalidRules,
    current_content,
    read_new_rules,
    read_rules,
    rules_path,
    saved_rules_path,
)
from orchestrator.schemas.rules import Rules
from orchestrator.states import FAILING, JOBS


class RulesNotSaved(Exception):
    """The file cannot be written; the message is the reason."""


class RulesUnchanged(Exception):
    """The new version is the one in force."""


class RulesChanged(Exception):
    """The rules in force are no longer those that the new version was made from."""


@dataclass(frozen=True)
class RulesFile:
    """The rules' file as it is now; `rules` is None if it is invalid, and `faults` say why."""

    path: Path
    content: bytes
    changed_at: datetime | None
    rules: Rules | None
    faults: tuple[str, ...]
    version: RulesVersion | None  # that the console saved last

    @property
    def sha256(self) -> str:
        return digest(self.content)

    @property
    def text(self) -> str:
        return self.content.decode("utf-8-sig", errors="replace").replace("\0", "\ufffd")

    @property
    def is_saved_here(self) -> bool:
        return bool(self.version and self.version.actor and self.version.sha256 == self.sha256)

    @property
    def is_changed_outside(self) -> bool:
        return bool(self.version and not self.is_saved_here)


def rules_file() -> RulesFile:
    path = rules_path()
    content, changed_at, rules = b"", None, None
    faults: tuple[str, ...] = ()
    try:
        content = read_bounded(path, most=BIGGEST_FILE)
        changed_at = datetime.fromtimestamp(path.stat().st_mtime, UTC)
        rules = read_rules(content)
    except InvalidRules as error:
        faults = error.lines
    except (OSError, ValueError) as error:
        faults = (str(error),)
    return RulesFile(path, content, changed_at, rules, faults, RulesVersion.objects.order_by("-pk").first())


def other_rules() -> str:
    """Return what is wrong if this machine has other rules than those saved last, on any machine; else nothing."""
    saved = RulesVersion.objects.order_by("-pk").values_list("sha256", flat=True).first()
    if saved in (None, digest(current_content())):
        return ""
    return sentences.OTHER_RULES % {"path": rules_path(), "machine": socket.gethostname()}


def save_rules(content: bytes, *, based_on: str, reason: str) -> RulesVersion:
    """Replace the file by a valid new version, made from the one whose sha256 is `based_on`, and record it."""
    read_new_rules(content)
    with transaction.atomic():
        with connection.cursor() as cursor:  # others that save wait until this transaction ends; reading goes on
            cursor.execute(f"LOCK TABLE {RulesVersion._meta.db_table} IN SHARE ROW EXCLUSIVE MODE")
        before = rules_file()
        if before.sha256 != based_on:
            raise RulesChanged
        if before.content == content and not before.is_changed_outside:
            raise RulesUnchanged
        if before.content not in (b"", content) and (before.version is None or before.version.sha256 != before.sha256):
            # So that the history has no gap, and the file can be restored.
            RulesVersion.objects.create(sha256=before.sha256, content=before.text)
        saved = RulesVersion.objects.create(
            actor=current_context().actor, reason=reason, sha256=digest(content), content=content.decode()
        )
        Activity.objects.record(
            ActivityKind.RULES,
            "saved",
            queue=JOBS.queue,
            model=RulesVersion._meta.label_lower,
            object_id=str(saved.pk),
            object_name=before.path.name,
            message=reason,
        )
        _replace(saved_rules_path(), content)
    return saved


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _replace(path: Path, content: bytes) -> None:
    try:
        target = path.resolve()  # of a link, the file it leads to
        mode = target.stat().st_mode & 0o777 if target.exists() else 0o666
        write_atomically(target, content, mode=mode, sync_required=False)  # some network shares refuse
    except OSError as error:
        raise RulesNotSaved(f"{path}: {error.strerror}.") from error


# Of jobs that wait for rules, the oldest are tried; an order may have thousands of parts.
JOBS_TRIED, PARTS_TRIED = 50, 10_000
JOBS_RELEASED, PARTS_RELEASED = 500, 50_000
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


def rules_text(content: dict[str, object], *, before: str) -> str:
    """Return rules as the text of their file, an entry a line; the text as it was if nothing else is in it."""
    with suppress(ValueError, RecursionError):
        if parse_json(before.encode()) == content:
            return before
    lines = [f"  {_written(name)}: {_written(value)}" for name, value in content.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


@dataclass(frozen=True)
class TriedJob:
    job: Job
    error: str  # empty if the rules let it pass


def jobs_waiting_for_rules(codes: Collection[str] = RULE_CODES) -> JobQuerySet:
    return Job.objects.filter(status__in=FAILING, error_code__in=codes).order_by("pk")


def missing_for(jobs: JobQuerySet, rules: Rules, *, most: int = JOBS_TRIED) -> list[MissingRule]:
    """Return all entries that the rules lack for the oldest of some jobs, each once."""
    missing = (entry for job in _some(jobs, jobs=most) for entry in missing_rules(order_from(job.payload), rules))
    return list(dict.fromkeys(missing))


def try_on_held_jobs(rules: Rules) -> list[TriedJob]:
    """Return what would become of the oldest jobs that wait for other rules, as many as take no time."""
    return [TriedJob(job, _error(job, rules)) for job in _some(jobs_waiting_for_rules())]


def jobs_to_release(rules: Rules) -> list[Job]:
    """Return the jobs that wait for rules and pass now."""
    waiting = _some(jobs_waiting_for_rules(), jobs=JOBS_RELEASED, parts=PARTS_RELEASED)
    return [job for job in waiting if not _error(job, rules)]


def _some(waiting: JobQuerySet, *, jobs: int = JOBS_TRIED, parts: int = PARTS_TRIED) -> JobQuerySet:
    sizes = list(waiting.order_by("pk").values_list("pk", "part_count")[:jobs])
    totals = accumulate(size for _, size in sizes)
    return waiting.filter(pk__in=[pk for (pk, _), total in zip(sizes, totals, strict=True) if total <= parts])


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


@dataclass(frozen=True)
class RulesCheck:
    faults: tuple[str, ...] = ()
    changes: list[RuleChange] = field(default_factory=list)
    tried: list[TriedJob] = field(default_factory=list)

    @classmethod
    def of(cls, text: str, file: RulesFile) -> "RulesCheck":
        try:
            rules = read_new_rules(text.encode())
        except InvalidRules as error:
            return cls(faults=error.lines)
        return cls(changes=changes(file.text, text), tried=try_on_held_jobs(rules))
