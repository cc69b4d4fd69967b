"""Looks over what a job will need before one needs it (ORC-23)."""

from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """How a check came out."""

    PASS = "PASS"  # noqa: S105 - a verdict
    WARN = "WARN"
    FAIL = "FAIL"


@dataclass(frozen=True)
class Check:
    """One thing looked at."""

    name: str
    level: Level
    message: str


def preflight() -> list[Check]:
    """Look at everything, and say of each thing whether jobs can rely on it."""
    raise NotImplementedError
