"""Validates the body of a request and reports every error."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice
from typing import Any

from django.conf import settings

from kilit.lock.text import UNSTORABLE_CHARS
from pdfjobs.documents import Document, document
from pdfjobs.documents.schema import LONGEST_NAME, MOST_ERRORS
from pdfjobs.models.job import LONGEST_TIMEOUT
from pdfjobs.rendering import OptionsError, PageOptions
from pdfjobs.states import FailSafe

DEEPEST = 20
KNOWN = ("template_name", "variables", "options")

# The path of a value: its parent's path and its name. Formatted only for a error, because most values have none.
Path = tuple[Any, str | int]


class JobRequestError(Exception):
    """Everything that is wrong with a request, each as `path: sentence`."""

    def __init__(self, errors: list[str]) -> None:
        super().__init__("; ".join(errors))
        self.errors = errors


@dataclass(frozen=True)
class JobRequest:
    """A validated request."""

    document: Document
    variables: dict[str, Any]
    options: PageOptions
    timeout: timedelta
    fail_safe: FailSafe

    def html(self) -> str:
        return self.document.html(self.variables)


def parse_job_request(body: Any) -> JobRequest:
    """Return the request, or raise UnknownTemplateError or JobRequestError."""
    if not isinstance(body, dict):
        raise JobRequestError([f": expected an object with {', '.join(KNOWN)}."])
    unknown = islice((name for name in body if name not in KNOWN), MOST_ERRORS)
    errors = [f"{format_path((None, name))}: unknown; allowed are {', '.join(KNOWN)}." for name in unknown]
    name, variables, given = body.get("template_name"), body.get("variables"), body.get("options")
    if not isinstance(name, str) or not name:
        raise JobRequestError([*errors, "template_name: expected the name of a template."])
    template = document(name)
    errors += _variable_errors(template, variables)
    options, timeout, fail_safe = _read_options({} if given is None else given, errors)
    if errors or options is None:
        raise JobRequestError(errors)
    return JobRequest(template, dict(variables or {}), options, timeout, fail_safe)


def _variable_errors(template: Document, variables: Any) -> list[str]:
    if not isinstance(variables, dict):
        return ["variables: expected an object."]
    if unstorable := unstorable_errors(variables, "variables"):
        return unstorable
    return [f"variables.{error}" for error in template.errors(variables)]


def unstorable_errors(value: Any, name: str) -> list[str]:
    """Return what PostgreSQL cannot store or no page can show, up to MOST_ERRORS."""
    return list(islice(_unstorable(value, (None, name)), MOST_ERRORS))


def _unstorable(value: Any, path: Path, depth: int = 0) -> Iterator[str]:
    if depth > DEEPEST:
        yield f"{format_path(path)}: nested deeper than {DEEPEST} levels."
    elif isinstance(value, dict):
        for key, inner in value.items():
            if UNSTORABLE_CHARS.search(key):
                yield f"{format_path(path)}: a name contains a NUL or an unpaired surrogate."
            else:
                yield from _unstorable(inner, (path, key), depth + 1)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _unstorable(inner, (path, index), depth + 1)
    elif isinstance(value, str) and UNSTORABLE_CHARS.search(value):
        yield f"{format_path(path)}: contains a NUL or an unpaired surrogate."
    elif isinstance(value, float) and not math.isfinite(value):
        yield f"{format_path(path)}: the number is too large."


def format_path(path: Path | None) -> str:
    """Format a path. Names come from the caller: each is cut, and invalid characters become `?`."""
    names: list[str] = []
    while path:
        path, name = path
        names.append(UNSTORABLE_CHARS.sub("?", str(name)[:LONGEST_NAME]))
    return ".".join(reversed(names))


def _read_options(given: Any, errors: list[str]) -> tuple[PageOptions | None, timedelta, FailSafe]:
    timeout, fail_safe = LONGEST_TIMEOUT, FailSafe(settings.PDF_FAIL_SAFE)
    if not isinstance(given, Mapping):
        errors.append("options: expected an object.")
        return None, timeout, fail_safe
    layout = {name: value for name, value in given.items() if name not in ("timeout", "fail_safe")}
    if (seconds := given.get("timeout")) is not None:
        most = int(LONGEST_TIMEOUT.total_seconds())
        if isinstance(seconds, int) and not isinstance(seconds, bool) and 1 <= seconds <= most:
            timeout = timedelta(seconds=seconds)
        else:
            errors.append(f"options.timeout: expected whole seconds from 1 to {most}.")
    if (wanted := given.get("fail_safe")) is not None:
        if wanted in FailSafe.values:
            fail_safe = FailSafe(wanted)
        else:
            errors.append(f"options.fail_safe: expected {' or '.join(FailSafe.values)}.")
    if unstorable := unstorable_errors(layout, "options"):
        errors.extend(unstorable)
        return None, timeout, fail_safe
    try:
        return PageOptions.read(layout), timeout, fail_safe
    except OptionsError as error:
        errors.extend(error.errors)
        return None, timeout, fail_safe
