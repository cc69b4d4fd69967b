"""The factory's rules, re-read when their file changes: after a fix, approving the job is enough."""

import threading
from pathlib import Path

from django.conf import settings

from orchestrator.errors import Code, JobError
from orchestrator.files.exchange import read_bounded
from orchestrator.planning.rulebook import read_rules
from orchestrator.schemas.rules import Rules

BIGGEST_FILE = 1024**2

_lock = threading.Lock()
_last: dict[Path, tuple[bytes, Rules]] = {}  # the file's content, and the rules read from it


def current_rules() -> Rules:
    """Return the rules on disk; while the file is invalid, the last valid ones."""
    return _read()[0]


def rules_error() -> str:
    """Return what is wrong with the rules on disk, or an empty string."""
    try:
        return _read()[1]
    except JobError as error:
        return error.message


def _read() -> tuple[Rules, str]:
    path = Path(settings.OPTI_RULES)
    with _lock:
        known = _last.get(path)
        try:
            # Read every time: the file is small, and its mtime need not change with its content.
            content = read_bounded(path, most=BIGGEST_FILE)
            if known and known[0] == content:
                return known[1], ""
            rules = read_rules(content)
        except ValueError as error:
            reason = f"{path.name}: {error}"
            if known is None:
                raise JobError(Code.UNKNOWN, f"There are no valid rules. {reason}") from None
            return known[1], reason
        _last[path] = (content, rules)
        return rules, ""
