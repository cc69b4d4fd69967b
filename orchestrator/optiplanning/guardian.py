"""Stands between the runner and a program: a runner killed with -9 takes the program, and all it started, with it.

Run as a script, with the standard library alone: `python guardian.py COMMAND…`. The runner holds the other end of its
standard input; when that closes, whatever the reason, the group is killed. It is also the one place for calls that
differ between POSIX and Windows.
"""

import json
import os
import signal
import subprocess
import sys
import threading
from typing import Any


def own_group() -> dict[str, Any]:
    """Return what Popen needs to start the leader of a new group."""
    if sys.platform == "win32":
        return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW}
    return {"start_new_session": True}


def kill_group(leader: int) -> None:
    """Kill a group that was started with `own_group`, its leader included."""
    if sys.platform == "win32":
        subprocess.run(["taskkill", "/T", "/F", "/PID", str(leader)], capture_output=True, check=False)
        return
    try:
        os.killpg(leader, signal.SIGKILL)
    except ProcessLookupError:
        return


def main(command: list[str]) -> None:
    # First of all: a runner that dies now is noticed as well.
    threading.Thread(target=_end_with_runner, daemon=True).start()
    try:
        program = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=sys.stderr)
    except OSError as error:
        _tell(error=error.strerror or type(error).__name__)
        return
    _tell(exit=program.wait())


def _end_with_runner() -> None:
    # Nobody writes to it: reading returns when the other end is closed.
    os.read(sys.stdin.fileno(), 1)
    kill_group(os.getpid())


def _tell(**facts: Any) -> None:
    sys.stdout.write(json.dumps(facts))
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
