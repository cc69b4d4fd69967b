"""The simulated Data Manager server."""

from simulators.datamanager.server import DataManagerServer
from tests.tools.benchmarks.peers.serving import serve

if __name__ == "__main__":
    serve(DataManagerServer().start())
