"""The simulated Google Ads server."""

import tempfile
from pathlib import Path

from simulators.googleads.server import GoogleAdsServer
from tests.tools.benchmarks.peers.serving import serve

if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="kilit-google-") as folder:
        serve(GoogleAdsServer(Path(folder)).start())
