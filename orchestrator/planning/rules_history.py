"""Saves the rules with their history, and knows where the rules in force come from.

Runners read the file before every job, so it is replaced as a whole, by renaming. The database records each version in
the same transaction; if that is lost after the file was replaced, the file shows as changed outside the console.
"""

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from django.db import connection, transaction

from kilit.files import sync_folder, write_temp
from kilit.lock.audit import current_context
from kilit.lock.models import Activity, ActivityKind
from orchestrator.files.exchange import read_bounded
from orchestrator.models import RulesVersion
from orchestrator.planning.rules import BIGGEST_FILE, InvalidRules, read_rules, rules_path, saved_rules_path
from orchestrator.schemas.rules import Rules
from orchestrator.states import JOBS


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


def save_rules(content: bytes, *, based_on: str, reason: str) -> RulesVersion:
    """Replace the file by a valid new version, made from the one whose sha256 is `based_on`, and record it."""
    read_rules(content)
    with transaction.atomic():
        _let_one_save()
        before = rules_file()
        if before.sha256 != based_on:
            raise RulesChanged
        if before.content == content:
            raise RulesUnchanged
        if before.content and (before.version is None or before.version.sha256 != before.sha256):
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


def _let_one_save() -> None:
    """Make others that save wait until this transaction ends; reading goes on."""
    with connection.cursor() as cursor:
        cursor.execute(f"LOCK TABLE {RulesVersion._meta.db_table} IN SHARE ROW EXCLUSIVE MODE")


def _replace(path: Path, content: bytes) -> None:
    try:
        target = path.resolve()  # of a link, the file it leads to
        mode = target.stat().st_mode & 0o777 if target.exists() else 0o666
        temp = write_temp(target.parent, target.name, [content], mode=mode)
        try:
            temp.replace(target)
        finally:
            temp.unlink(missing_ok=True)
    except OSError as error:
        raise RulesNotSaved(f"{path}: {error.strerror}.") from error
    sync_folder(target.parent, required=False)  # some network shares refuse
