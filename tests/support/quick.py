"""Keeps the quick tests quick: a test that starts a process must be marked."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import pytest

# They answer at once.
ALLOWED = {"dpkg-query", "mount", "umount", "promtool", "systemd-analyze"}
UNMARKED = "this test starts a process: move it to tests/processes, or mark it with pytest.mark.processes"


@contextmanager
def no_processes() -> Iterator[None]:
    """Fail whatever starts a process, but for short questions to the system."""
    start = subprocess.Popen.__init__

    def start_allowed(self: Any, args: Any, *rest: Any, **options: Any) -> None:
        command = [args] if isinstance(args, str | Path) else list(args)
        assert Path(command[0]).name in ALLOWED or command[1:] == ["--version"], f"{command}: {UNMARKED}"
        start(self, args, *rest, **options)

    def refuse() -> NoReturn:
        raise AssertionError(UNMARKED)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subprocess.Popen, "__init__", start_allowed)
        patch.setattr(os, "fork", refuse)
        # An estimate keeps the plan that it has before the solver starts.
        patch.setattr("orchestrator.cutting.solving.Task.run", lambda *_: None)
        yield
