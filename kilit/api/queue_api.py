"""The queues' APIs: where each is found, what OpenAPI says about it, and by which kinds its requests are counted."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise


@dataclass(frozen=True)
class QueueApi:
    path: str  # as in Django's `path`
    urls: str  # the module with its URLs
    tags: Mapping[str, str]  # of its views, each with a sentence
    # By address, an exact one or, with a slash at its end, all below it. A few kinds: each is a series of metrics.
    kinds: Mapping[str, str]
    # Scopes of keys that not every queue has, each with what such a key sends or does.
    scopes: Mapping[str, "StrOrPromise"] = field(default_factory=dict)


apis: list[QueueApi] = []
