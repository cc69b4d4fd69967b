"""A process between the runner and a program: if the runner is killed, it kills the program's process group.

Run as a script with the standard library alone: `python guardian.py COMMAND…`. The runner holds the other end of its
standard input; when that closes, for whatever reason, the group is killed. All calls that differ between POSIX and
Windows are in this module.
"""

import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from typing import Any


def own_group() -> dict[str, Any]:
    if sys.platform == "win32":
        return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW}
    return {"start_new_session": True}


def kill_group(leader: int) -> None:
    """Kill a group that was started with `own_group`, including its leader."""
    if sys.platform == "win32":
        command = ["taskkill", "/T", "/F", "/PID", str(leader)]
        subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)  # a service has no stdin
        return
    with suppress(ProcessLookupError):
        os.killpg(leader, signal.SIGKILL)


def main(command: list[str]) -> None:
    # Started first, so that a runner that dies now is noticed too.
    threading.Thread(target=_end_with_runner, daemon=True).start()
    try:
        program = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=sys.stderr)
    except OSError as error:
        _report(error=error.strerror or type(error).__name__)
        return
    _report(exit=program.wait())


def _end_with_runner() -> None:
    # The runner never writes to it: read returns when the other end is closed.
    os.read(sys.stdin.fileno(), 1)
    kill_group(os.getpid())


def _report(**facts: object) -> None:
    sys.stdout.write(json.dumps(facts))
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
