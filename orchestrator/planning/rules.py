"""The factory's rules, re-read when their file changes: after a fix, approving the job is enough."""

import json
import re
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.conf import settings
from pydantic import ValidationError

from kilit.api.input_model import FieldError, format_error, located_errors
from kilit.api.json_reader import DuplicateName, parse_json
from orchestrator import sentences
from orchestrator.errors import Code, JobError
from orchestrator.folders import read_bounded
from orchestrator.planning.saws import NO_FOLDER, without_folder
from orchestrator.schemas.rules import Rules
from orchestrator.states import Mode

BIGGEST_FILE = 1024**2
SHIPPED = Path(__file__).parents[1] / "rules.json"

_lock = threading.Lock()
_last: dict[Path, tuple[bytes, Rules]] = {}  # the file's content, and the rules read from it


class InvalidRules(ValueError):
    """Each line of the message names where its error is."""

    def __init__(self, *lines: str, errors: Sequence[tuple[Sequence[str | int], FieldError]] = ()) -> None:
        super().__init__(" ".join(lines))
        self.lines = lines
        self.errors = errors  # of fields, with the path of each


def read_rules(content: bytes) -> Rules:
    try:
        text = content.decode("utf-8-sig")
        return Rules.model_validate(parse_json(text.encode()), context={"thicknesses": set()})
    except ValidationError as error:
        errors = list(located_errors(error, Rules))
        lines = [f"line {_line(text, *path)}: {format_error(message)}" for path, message in errors]
        raise InvalidRules(*lines, errors=errors) from None
    except json.JSONDecodeError as error:
        raise InvalidRules(f"line {error.lineno}: {error.msg}.") from None
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InvalidRules(f"line {line}: Not UTF-8.") from None
    except DuplicateName as error:
        raise InvalidRules(f"line {_line(text, error.name, nth=2)}: {error.name} appears twice.") from None
    except RecursionError:
        raise InvalidRules("Nested too deeply.") from None
    except ValueError as error:
        raise InvalidRules(f"{error}.") from None


def read_new_rules(content: bytes) -> Rules:
    """Read rules that are to be saved. Those in force apply without this check: their folders may be elsewhere."""
    rules = read_rules(content)
    if names := without_folder(rules):
        places = [number for number, saw in enumerate(rules.saws) if saw.name in names]
        errors = [
            (("saws", place, "name"), FieldError(field=f"saws.{place}.name", message=NO_FOLDER)) for place in places
        ]
        line = _line(content.decode("utf-8-sig"), "saws")
        raise InvalidRules(*(f"line {line}: {format_error(error)}" for _path, error in errors), errors=errors)
    return rules


def _line(text: str, *path: str | int, nth: int = 1) -> int:
    """Return the line of a name; of what is missing, the line of the object that it belongs in."""
    at = 0
    for name in filter(lambda step: isinstance(step, str), path):
        pattern = re.escape(json.dumps(name, ensure_ascii=False)) + r"\s*:"
        places = [match.start() for match in re.finditer(pattern, text[at:])]
        at += places[min(nth, len(places)) - 1] if places else 0
    return text.count("\n", 0, at) + 1


def rules_path() -> Path:
    """Return the file of the rules in force: the saved ones, or those that are shipped until some are saved."""
    saved = saved_rules_path()
    return saved if saved.exists() else Path(settings.OPTI_RULES)


def saved_rules_path() -> Path:
    """Return the file that the console writes: the one that is set, never the shipped one, which upgrades replace."""
    path = Path(settings.OPTI_RULES)
    return Path(settings.KILIT_VAR) / SHIPPED.name if path == SHIPPED else path


def current_rules() -> Rules:
    """Return the rules on disk; while the file is invalid, the last valid ones."""
    return _read()[0]


def current_content() -> bytes:
    """Return the text of the current rules."""
    _read()
    return _last[rules_path()][0]


def valid_rules() -> Rules | None:
    """Return the current rules, or None if no valid ones were ever read."""
    try:
        return current_rules()
    except JobError:
        return None


def offered_modes() -> list[tuple[str, Any]]:
    """Return the modes to choose from; the built-in optimiser only where the rules name it."""
    rules = valid_rules()
    has_optimiser = rules is not None and (rules.opti_mode_default == Mode.D or "cutting" in rules.model_fields_set)
    return [(mode, label) for mode, label in Mode.choices if mode != Mode.D or has_optimiser]


def saw_names() -> list[str]:
    """Return the saws of the rules; none where there is one saw, or people cut."""
    rules = valid_rules()
    return [saw.name for saw in rules.saws] if rules else []


def has_stock() -> bool:
    """Return whether the shop keeps its boards and offcuts here."""
    rules = valid_rules()
    return rules is not None and rules.stock is not None


def rules_error() -> str:
    try:
        return _read()[1]
    except JobError as error:
        return error.message


def _read() -> tuple[Rules, str]:
    path = rules_path()
    with _lock:
        last = _last.get(path)
        try:
            # Read every time: the file is small, and its mtime need not change with its content.
            content = read_bounded(path, most=BIGGEST_FILE)
            if last and last[0] == content:
                return last[1], ""
            rules = read_rules(content)
        except ValueError as error:
            reason = f"{path.name}: {error}"
            if last is None:
                raise JobError(Code.UNKNOWN, sentences.NO_RULES % {"reason": reason}) from None
            return last[1], reason
        _last[path] = (content, rules)
        return rules, ""
