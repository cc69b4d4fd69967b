"""Disks that are full or locked, and old files, for the tests of the floor."""

import os
import resource
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from orchestrator import collecting


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
            pytest.skip("this machine does not let us mount")
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


def collect_twice(*args: Any, **options: Any) -> collecting.Collected | None:
    """Look, and again a minute later: at the first look nothing is said about a file."""
    collecting.collect(*args, **options)
    time_passes(60)
    return collecting.collect(*args, **options)
