"""A document: a template, the schema of its variables, and what they become on paper."""

from collections.abc import Mapping
from typing import Any


class UnknownDocument(Exception):
    """A name that is not on the allowlist."""

    def __init__(self, name: str, allowed: list[str]) -> None:
        """Keep what was asked for, and what there is."""
        listed = ", ".join(allowed) or "none: the list is empty"
        super().__init__(f"{name!r} is not a template that may be rendered. Allowed: {listed}.")
        self.name, self.allowed = name, allowed


class DocumentFault(Exception):
    """A template that cannot be filled in; for operators, as it names the place."""

    def __init__(self, template: str, line: int | None, message: str) -> None:
        """Keep the place."""
        super().__init__(f"{template}, line {line}: {message}" if line else f"{template}: {message}")
        self.template, self.line, self.message = template, line, message


class Document:
    """One kind of document."""

    name: str
    title: str
    sample: dict[str, Any]

    @property
    def digest(self) -> str:
        """Return a hash of all that shapes the page besides the variables."""
        raise NotImplementedError

    def faults(self, variables: Mapping[str, Any]) -> list[str]:
        """Return what is wrong with the variables, each by its path."""
        raise NotImplementedError

    def html(self, variables: Mapping[str, Any]) -> str:
        """Return the page."""
        raise NotImplementedError


def document(name: str) -> Document:
    """Return an allowed document, or refuse."""
    raise NotImplementedError


def documents() -> list[Document]:
    """Return the allowed documents."""
    raise NotImplementedError
