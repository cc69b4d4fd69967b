"""The Data Manager server in a process of its own: prints its address, and serves until its input ends."""

import json
import sys

from simulators.datamanager.server import DataManagerServer

if __name__ == "__main__":
    server = DataManagerServer().start()
    sys.stdout.write(json.dumps(server.environment) + "\n")
    sys.stdout.flush()
    for _ in sys.stdin:  # each line: forget what was uploaded, so that memory says nothing about us
        server.reset()
        sys.stdout.write("reset\n")
        sys.stdout.flush()
    server.stop()
