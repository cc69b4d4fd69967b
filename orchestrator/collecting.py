"""Finds OptiPlanning's solution of a job in the export folder (ORC-17)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

from orchestrator.folders import Folders


@dataclass(frozen=True)
class Collected:
    """Solutions that are whole and valid."""

    paths: tuple[Path, ...]
    solution: dict[str, Any]  # figures of the best Solution; empty when the file has none
    sha256: str


def collect(job_id: UUID, *, newer_than: datetime, expected: Sequence[str], folders: Folders) -> Collected | None:
    """Return the job's solution, or none when it is not there or not whole yet."""
    raise NotImplementedError


def file_clock(folder: Path) -> datetime:
    """Return the time by the clock that stamps files in this folder, which need not be ours."""
    raise NotImplementedError
