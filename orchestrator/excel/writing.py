"""Writes a job's files, all of them or none (ORC-15)."""

from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

from orchestrator.folders import Folders
from orchestrator.plan import Plan


@dataclass(frozen=True)
class SheetFile:
    """A file in OptiPlanning's import folder."""

    name: str
    sha256: str


def write_files(
    job_id: UUID, plan: Plan, folders: Folders, *, keep_alive: Callable[[], None] | None = None
) -> list[SheetFile]:
    """Write one file per batch; a file that is there with the same content is left alone."""
    raise NotImplementedError
