"""Runs manage.py and Python as a user does, in a process with an environment of its own, and commands in this one."""

import os
import secrets
import socket
import subprocess
import sys
from contextlib import suppress
from io import StringIO
from pathlib import Path
from typing import Any

from django.core.management import call_command

from tests.support.waiting import PATIENCE

ROOT = Path(__file__).resolve().parents[2]
# What the shell or the test run itself may have set, and a fresh machine has not.
FOREIGN = ("KILIT_", "DJANGO_", "DATABASE_URL", "SECRET_KEY", "PORT", "ALLOWED_HOSTS", "CSRF_")


def fresh_environment(**variables: str) -> dict[str, str]:
    """Return an environment without anything of ours, plus the variables given."""
    return {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)} | variables


def manage(*arguments: str, timeout: float = PATIENCE, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command to its end with the product's own settings."""
    return run_python("manage.py", *arguments, timeout=timeout, **variables)


def run_python(*arguments: str, timeout: float = PATIENCE, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run Python to its end in the product's folder."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=fresh_environment(**variables),
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def output_of(command: str, *arguments: Any, **options: Any) -> str:
    """Run a command in this process, and return what it printed."""
    out = StringIO()
    call_command(command, *arguments, stdout=out, **options)
    return out.getvalue()


def free_port() -> int:
    """Return a port of loopback that nobody has, and that the kernel gives to nobody before it is used.

    It deals out higher ones to whoever connects or asks for any. By chance, and not by `random`, which test runs seed:
    two of them at once would find the same.
    """
    while True:
        port = secrets.choice(range(20_000, 32_000))
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
