"""The key of a job: the same for the same document, and for no other."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from pdfjobs.documents import Document
from pdfjobs.rendering import PageOptions, engine_version


def job_key(document: Document, variables: Mapping[str, Any], options: PageOptions) -> str:
    """Hash everything that determines the PDF except its dates."""
    parts = {
        "template": document.name,
        "payload": variables,
        "options": options.canonical(),
        "digest": document.digest,
        "engine": engine_version(),
    }
    text = json.dumps(_as_stored(parts), sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _as_stored(value: Any) -> Any:
    """Return a value as the database returns it, without negative zero: workers compute the key from that."""
    match value:
        case float():
            return value + 0.0
        case Mapping():
            return {name: _as_stored(inner) for name, inner in value.items()}
        case list() | tuple():
            return [_as_stored(inner) for inner in value]
        case _:
            return value
