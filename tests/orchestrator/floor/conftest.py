"""Disks that are full or locked, and old files, for the tests of the floor."""

import os
import resource
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from orchestrator.files.folders import Folders
from orchestrator.optiplanning import collecting
from orchestrator.optiplanning.collecting import Collected, Wanted

JOB = UUID("11111111-2222-3333-4444-555555555555")
BEFORE = datetime(2026, 1, 1, tzinfo=UTC)
XML = """<?xml version="1.0" encoding="{encoding}"?>
<OptiPlanning>
  <Solution name="one" algo="SPEED" best="0" mqBoards="23.52" patterns="9" zcuts="90" jobTime="900" mqDrops="9"/>
  <Solution name="iki" algo="BEST" best="1" mqBoards="17,64" patterns="7" cycles="8" zcuts="81" jobTime="754.5"
            jobCost="4233.60" mqDrops="3.05" diffDrops="4"/>
</OptiPlanning>
"""
GOOD = XML.format(encoding="UTF-8").encode()


@pytest.fixture
def full_disk() -> Callable[..., AbstractContextManager[None]]:
    """Let no file of this process grow beyond a few thousand bytes for a while."""

    @contextmanager
    def limited(size: int = 4500) -> Iterator[None]:
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    return limited


@pytest.fixture
def mounted() -> Iterator[Callable[..., None]]:
    """Mount a small file system of its own on a folder; root ignores permissions, but not mounts."""
    done: list[Path] = []

    def mount(folder: Path, *options: str) -> None:
        command = ["mount", "-t", "tmpfs", "-o", ",".join(("size=64k", *options)), "tmpfs", str(folder)]
        if os.geteuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode:
            pytest.skip(
                "only root may mount the small file system that gets full, and some containers forbid it to root, too"
            )
        done.append(folder)

    yield mount
    for folder in done:
        subprocess.run(["umount", str(folder)], check=True)


def age(path: Path, seconds: float = 10) -> Path:
    """Make a file look as if nobody had touched it for a while."""
    then = path.stat().st_mtime - seconds
    os.utime(path, (then, then))
    return path


def time_passes(seconds: float) -> None:
    """Let time pass since this process looked."""
    seen = collecting.looks.seen
    seen.update({path: (known, since - seconds) for path, (known, since) in seen.items()})


def collect_twice(wanted: Wanted, folders: Folders) -> Collected | None:
    """Look, and again a minute later: at the first look nothing is said about a file."""
    collecting.collect(wanted, folders)
    time_passes(60)
    return collecting.collect(wanted, folders)


@pytest.fixture
def put(floor: Folders) -> Callable[..., Path]:
    """Put a file into the export folder that nobody has touched for a while."""

    def put(content: bytes = GOOD, name: str = f"{JOB}.xml", *, seconds: float = 10) -> Path:
        path = floor.export / name
        path.write_bytes(content)
        return age(path, seconds)

    return put


@pytest.fixture
def look(floor: Folders) -> Callable[..., Collected | None]:
    def look(*sheets: str, newer_than: datetime = BEFORE, each: bool = False) -> Collected | None:
        return collect_twice(Wanted(JOB, newer_than, sheets, each=each), floor)

    return look


@pytest.fixture
def here(floor: Folders) -> Any:
    from tests.support.floor import Floor  # noqa: PLC0415 - it stands on what is above

    return Floor(floor)
