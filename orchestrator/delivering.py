"""Hands solutions to the saw through its folders, and takes them back (ORC-18)."""

from pathlib import Path
from uuid import UUID

from orchestrator.folders import Folders


def delivery_name(job_id: UUID, attempt: int, source: Path) -> str:
    """Return the name of a solution in the saw's folders, unique to the attempt."""
    raise NotImplementedError


def deliver(source: Path, name: str, folders: Folders) -> None:
    """Copy a solution into the inbox, whole or not at all; what was handed over once is left alone."""
    raise NotImplementedError


def acknowledged(name: str, folders: Folders) -> bool | None:
    """Tell whether the saw took the file (true), refused it (false), or has not said yet (none)."""
    raise NotImplementedError


def withdraw(name: str, folders: Folders) -> bool | None:
    """Take the file back, then look again: true if it had been taken after all, false if refused, none if withdrawn."""
    raise NotImplementedError
