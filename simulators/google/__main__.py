"""`make up-google`: like `make up`, with this simulator instead of Google for the demo's API site."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from simulators.googleads.server import GoogleAdsServer

ROOT = Path(__file__).resolve().parent.parent.parent


def main() -> int:
    """Serve until `manage.py up` ends; it gets Ctrl-C from the terminal, and SIGTERM from here."""
    with tempfile.TemporaryDirectory(prefix="kilit-google-") as folder:
        server = GoogleAdsServer(Path(folder)).start()
        up = subprocess.Popen([sys.executable, "manage.py", "up"], cwd=ROOT, env={**os.environ, **server.environment})
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, lambda *_: up.terminate())
        try:
            return up.wait()
        finally:
            server.stop()


if __name__ == "__main__":
    sys.exit(main())
