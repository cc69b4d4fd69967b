"""The Google Ads server of the tests in a process of its own: prints its address, and serves until its input ends."""

import json
import sys
import tempfile
from pathlib import Path

from simulators.googleads.server import GoogleAdsServer

if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="kilit-google-") as folder:
        server = GoogleAdsServer(Path(folder)).start()
        sys.stdout.write(json.dumps(server.environment) + "\n")
        sys.stdout.flush()
        for _ in sys.stdin:  # each line: forget what was uploaded, so that memory says nothing about us
            server.reset()
            sys.stdout.write("reset\n")
            sys.stdout.flush()
        server.stop()
