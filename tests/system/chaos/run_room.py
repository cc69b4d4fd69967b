"""What every run of real processes has: a limit, a way to stop it, and a folder of its own that ends with it."""

import argparse
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

GRACE = 10  # seconds to report what was found, and to stop everything


def add_run_options(parser: argparse.ArgumentParser) -> None:
    # Not part of a verdict: a run ends by itself, however slow the machine is.
    parser.add_argument("--limit", type=float, default=3600.0, help="seconds after which a run that hangs is ended")
    parser.add_argument(
        "--keep", action="store_true", help="leave the folder of the run, with its logs; that of a broken run stays"
    )


def run_in_room(name: str, asked: argparse.Namespace, run: Callable[[argparse.Namespace, Path], int]) -> int:
    """Run in a folder of its own; SIGTERM and the limit end it, and everything is stopped on the way."""
    os.environ["GRPC_ENABLE_FORK_SUPPORT"] = "0"  # processes are started while the server's threads run
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(f"{name}: stopped"))
    late = f"{name}: seed {asked.seed}: UNDECIDED, it was not over within {asked.limit:.0f} s"
    signal.signal(signal.SIGALRM, lambda *_: sys.exit(late))
    signal.alarm(round(asked.limit) + GRACE)
    folder = Path(tempfile.mkdtemp(prefix=f"kilit-{name}-"))
    folder.chmod(0o711)  # PostgreSQL's own user must pass through it to its data
    is_evidence = asked.keep
    try:
        code = run(asked, folder)
        # A run without a guard is broken on purpose.
        is_evidence = asked.keep or (code != 0 and not getattr(asked, "without", ""))
        return code
    finally:
        if not is_evidence:
            shutil.rmtree(folder, ignore_errors=True)
