"""The parts of `make machines`: a cable that can be cut, and clocks that are off."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.support.waiting import PATIENCE
from tests.system.chaos.stage import CLIENTS, SERVICES
from tests.system.machines.clocks import CLOCKS, MISSING, clock_of, find_library
from tests.system.machines.relay import Relay, listen, reach

AN_HOUR = 3600


@pytest.fixture
def cable() -> Iterator[tuple[Relay, socket.socket, socket.socket]]:
    """Return a relay, and both ends of a connection through it."""
    server, listener = listen("127.0.0.1", 0), listen("127.0.0.1", 0)
    relay = Relay(listener, reach(*server.getsockname()))
    near = socket.create_connection(listener.getsockname(), timeout=PATIENCE)
    far, _ = server.accept()
    far.settimeout(PATIENCE)
    yield relay, near, far
    for end in (near, far, server, listener):
        end.close()


def test_a_cable_passes_bytes_both_ways_until_one_end_hangs_up(cable) -> None:
    _, near, far = cable

    near.sendall(b"there")
    assert far.recv(10) == b"there"
    far.sendall(b"back")
    assert near.recv(10) == b"back"
    far.close()
    assert near.recv(10) == b""


def test_a_cut_cable_passes_nothing_and_refuses_nothing(cable) -> None:
    relay, near, far = cable
    far.settimeout(0.2)

    relay.cut()
    near.sendall(b"lost?")
    with pytest.raises(TimeoutError):
        far.recv(10)

    relay.join()
    far.settimeout(PATIENCE)
    assert far.recv(10) == b"lost?"


def test_everybody_has_a_clock_that_is_off_except_the_saw() -> None:
    assert set(CLOCKS) == {*SERVICES, *CLIENTS} - {"machines"}
    assert set(CLOCKS.values()) == {"+1h", "-1h"}


@pytest.mark.processes
@pytest.mark.skipif(find_library() is None, reason=f"{MISSING}; `make machines` needs it")
def test_a_clock_is_off_by_an_hour_and_goes_on_evenly() -> None:
    asked = [sys.executable, "-c", "import time; time.sleep(0.01); print(time.time(), time.monotonic())"]

    def ask(**clock: str) -> list[float]:
        ended = subprocess.run(asked, env={**os.environ, **clock}, check=True, capture_output=True, text=True)
        return [float(number) for number in ended.stdout.split()]

    (now, ticks), (late, late_ticks) = ask(), ask(**clock_of("worker-1"))

    assert late - now == pytest.approx(-AN_HOUR, abs=PATIENCE)
    assert late_ticks - ticks == pytest.approx(0, abs=PATIENCE)
