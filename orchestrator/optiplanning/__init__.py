"""Starts OptiPlanning: by command (mode A), by Excel macro (mode B), or by the operator's hand (mode C) (ORC-16)."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import ClassVar, Protocol


class Adapter(Protocol):
    """One way to start OptiPlanning."""

    needs_operator: ClassVar[bool]

    def run(self, files: Sequence[Path], *, keep_alive: Callable[[], None], time_limit: timedelta) -> None:
        """Start OptiPlanning on the files, and return when it has ended; raise a Fault when it did not end well."""


def adapter(mode: str) -> Adapter:
    """Return the adapter of a mode."""
    raise NotImplementedError
