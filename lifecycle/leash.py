"""The keeper of a program that does not watch its parent: `python leash.py PARENT_PID PROGRAM ARGUMENT…`.

It runs as a file of its own, without Django, and ends as the program does.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parent.parent)  # a file run by its path is not in a package

from lifecycle.processes import PARENT, die_with_parent  # noqa: E402


def main() -> int:
    """Start the program in this group, and end the whole group when the parent is gone."""
    os.environ[PARENT] = sys.argv[1]
    die_with_parent()
    # The program's parent is this keeper, not the one that is watched here.
    environment = {name: value for name, value in os.environ.items() if name != PARENT}
    try:
        program = subprocess.Popen(sys.argv[2:], env=environment)
    except OSError as error:
        sys.stderr.write(f"{sys.argv[2]}: {error.strerror}\n")
        return 127
    while program.poll() is None:
        time.sleep(0.05)
    return program.returncode if program.returncode >= 0 else 128 - program.returncode


if __name__ == "__main__":
    sys.exit(main())
