"""The key of a job: the same for the same document, and for no other."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from pdfjobs.documents import Document
from pdfjobs.rendering import PageOptions, engine_version


def job_key(document: Document, variables: Mapping[str, Any], options: PageOptions) -> str:
    """Return the hash of all that decides the bytes but the time: what is asked, and what makes it."""
    made_of = {
        "template": document.name,
        "payload": variables,
        "options": options.canonical(),
        "digest": document.digest,
        "engine": engine_version(),
    }
    return hashlib.sha256(canonical_json(_settled(made_of))).hexdigest()


def _settled(value: Any) -> Any:
    """Return a value as the database gives it back, which knows no negative zero: workers reckon the key from there."""
    match value:
        case float():
            return value + 0.0
        case Mapping():
            return {name: _settled(inner) for name, inner in value.items()}
        case list() | tuple():
            return [_settled(inner) for inner in value]
        case _:
            return value


def canonical_json(value: Any) -> bytes:
    """Return the one spelling of a value: sorted, without white space, in UTF-8."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode()
