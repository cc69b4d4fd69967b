"""The key of a job: the same for the same document, and for no other."""

import hashlib
import json
from collections.abc import Mapping

from pdfjobs.documents import Document
from pdfjobs.rendering import PageOptions, engine_version


def job_key(document: Document, variables: Mapping[str, object], options: PageOptions) -> str:
    """Hash everything that determines the PDF except its dates."""
    parts = {
        "template": document.name,
        "payload": variables,
        "options": options.canonical(),
        "digest": document.digest,
        "engine": engine_version(),
    }
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()
