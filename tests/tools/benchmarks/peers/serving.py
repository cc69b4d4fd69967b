"""Serves a simulator in a process of its own: prints its address, and serves until the process's input ends."""

import json
import sys
from typing import Any


def serve(server: Any) -> None:
    sys.stdout.write(json.dumps(server.environment) + "\n")
    sys.stdout.flush()
    for _ in sys.stdin:  # each line: forget what was uploaded, so that memory says nothing about us
        server.reset()
        sys.stdout.write("reset\n")
        sys.stdout.flush()
    server.stop()
