"""`make up-google`: like `make up`, with simulators instead of Google for the demo's sites that upload."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from simulators.datamanager.server import DataManagerServer
from simulators.googleads.server import GoogleAdsServer

ROOT = Path(__file__).resolve().parent.parent.parent


def main() -> int:
    """Serve until `manage.py up` ends; it gets Ctrl-C from the terminal, and SIGTERM from here."""
    with tempfile.TemporaryDirectory(prefix="kilit-google-") as folder:
        ads, data_manager = GoogleAdsServer(Path(folder)).start(), DataManagerServer().start()
        simulated = {**data_manager.environment, **ads.environment}  # one login serves both
        up = subprocess.Popen([sys.executable, "manage.py", "up"], cwd=ROOT, env={**os.environ, **simulated})
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, lambda *_: up.terminate())
        try:
            return up.wait()
        finally:
            ads.stop()
            data_manager.stop()


if __name__ == "__main__":
    sys.exit(main())
