"""The simulated Data Manager server."""

from simulators.datamanager.server import DataManagerServer
from tests.benchmarks.peers.serving import serve

if __name__ == "__main__":
    serve(DataManagerServer().start())
