"""The factory's rules, re-read when their file changes, so that fixing the file and approving the job is enough."""

import threading
from dataclasses import replace
from pathlib import Path

from django.conf import settings

from orchestrator.errors import Code, JobError
from orchestrator.planning.rulebook import InvalidRules, Rules, read_rules

__all__ = ["Rules", "current_rules", "mistake"]

BIGGEST_FILE = 1024**2

_lock = threading.Lock()
_last: dict[Path, tuple[bytes, Rules]] = {}  # what was read, and what came of it


def current_rules() -> Rules:
    """Return the rules as they are on disk; while the file is wrong, the last good ones with the reason."""
    path = Path(settings.OPTI_RULES)
    with _lock:
        known = _last.get(path)
        try:
            # The file is small, and its time stamp need not change with its content: so it is read each time.
            content = _content(path)
            if known and known[0] == content:
                return known[1]
            rules = read_rules(content)
        except InvalidRules as wrong:
            reason = f"{path.name}: {wrong}"
            if known is None:
                raise JobError(Code.UNKNOWN, f"There are no rules to work by. {reason}") from None
            return replace(known[1], refusal=reason)
        _last[path] = (content, rules)
        return rules


def mistake() -> str:
    """Return what is wrong with the rules on disk, or nothing; whoever has read good ones works by those meanwhile."""
    try:
        return current_rules().refusal or ""
    except JobError as fault:
        return fault.message


def _content(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            content = file.read(BIGGEST_FILE + 1)
    except OSError as error:
        raise InvalidRules(f"cannot be read: {error.strerror}.") from None
    if len(content) > BIGGEST_FILE:
        raise InvalidRules("larger than 1 MB.")
    return content
