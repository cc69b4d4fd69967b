"""How a page is laid out: what callers may ask for (PDF-13)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self


@dataclass(frozen=True)
class PageOptions:
    """Paper, margins, page ranges, header and footer, tagging, metadata."""

    @classmethod
    def read(cls, given: Mapping[str, Any]) -> Self:
        """Return the options, or refuse with every fault."""
        raise NotImplementedError

    def canonical(self) -> dict[str, Any]:
        """Return all options with their defaults, as JSON."""
        raise NotImplementedError
