"""The network of a run: a machine for each service, with one cable to the database.

As root each machine is a network namespace, on a bridge in a namespace of the run's own, so that all of it is gone with
the last process of the run, however it ends. Elsewhere machines have loopback addresses of their own, and a relay for a
cable. A machine reaches what is outside (Google, the receiver) and is reached by its clients past that cable: only the
database is cut off.
"""

import ctypes
import os
import subprocess
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeVar

from tests.system.machines.relay import Relay, listen, reach, reach_socket

BRIDGE = "kilit"
BRIDGE_MAC = "02:00:0a:63:00:01"
DATABASE = "10.99.0.1"
DATABASE_PORT = 5432
CLONE_NEWNET = 0x40000000
OWN_NETWORK = "KILIT_OWN_NETWORK"  # set to 1 in a network namespace of the run's own
# What the run tries first in new namespaces: without all of it, machines are loopback addresses.
TRIED = (
    f"mkdir -p /run/netns && mount -t tmpfs tmpfs /run/netns && ip link set lo up && ip link add {BRIDGE} address"
    f" {BRIDGE_MAC} type bridge && ip addr add {DATABASE}/24 dev {BRIDGE} && ip link set {BRIDGE} up"
)

T = TypeVar("T")


def has_namespaces() -> bool:
    """Return whether machines are network namespaces in this run."""
    return os.environ.get(OWN_NETWORK) == "1"


def ip(*arguments: str) -> None:
    """Run `ip`."""
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


class Namespace:
    """A thread that lives in a network namespace, and makes sockets there."""

    def __init__(self, name: str) -> None:
        """Enter it."""
        self.thread = ThreadPoolExecutor(1, initializer=enter, initargs=(name,))

    def make(self, what: Callable[[], T]) -> T:
        """Return what is made there."""
        return self.thread.submit(what).result()


def enter(name: str) -> None:
    """Let the current thread live in a network namespace."""
    libc = ctypes.CDLL(None, use_errno=True)
    namespace = os.open(f"/run/netns/{name}", os.O_RDONLY)
    if libc.setns(namespace, CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), f"cannot enter {name}")
    os.close(namespace)


@dataclass
class Machine:
    """One machine, by the name of its service."""

    name: str
    number: int
    namespace: Namespace | None = None
    cable: Relay | None = None  # where there is no namespace
    relays: list[Relay] = field(default_factory=list)

    @property
    def end(self) -> str:
        """The bridge's end of its cable."""
        return f"cable{self.number}"

    @property
    def database(self) -> str:
        """The address under which this machine knows the database."""
        return DATABASE if self.namespace else f"127.0.0.{100 + self.number}"

    def command(self, command: list[str]) -> list[str]:
        """Return what runs a command on this machine."""
        return ["ip", "netns", "exec", self.name, *command] if self.namespace else command

    def cut(self) -> None:
        """Drop every packet between this machine and the database from now on."""
        if self.cable:
            self.cable.cut()
        else:
            ip("link", "set", self.end, "nomaster")

    def join(self) -> None:
        """Let packets through again."""
        if self.cable:
            self.cable.join()
        else:
            ip("link", "set", self.end, "master", BRIDGE)


@dataclass
class Network:
    """All machines of a run."""

    socket: str  # of the database, in the file system
    port: int  # of the web server
    outside: Iterable[int]  # ports on loopback that every machine may reach
    machines: dict[str, Machine] = field(default_factory=dict)

    def build(self, *names: str) -> None:
        """Make a machine for each name, each with its cable."""
        if has_namespaces():
            self.server = Relay(listen(DATABASE, DATABASE_PORT), reach_socket(self.socket))
        for number, name in enumerate(names, start=1):
            machine = self.machines[name] = Machine(name, number)
            if has_namespaces():
                self._separate(machine)
            else:
                machine.cable = Relay(listen(machine.database, DATABASE_PORT), reach_socket(self.socket))

    def _separate(self, machine: Machine) -> None:
        """Give a machine a namespace with a cable to the bridge, and a way to what is outside."""
        name, inside = machine.name, ("-n", machine.name)
        ip("netns", "add", name)
        ip("link", "add", machine.end, "type", "veth", "peer", "name", "eth0", "netns", name)
        ip("link", "set", machine.end, "master", BRIDGE, "up")
        ip(*inside, "addr", "add", f"10.99.0.{100 + machine.number}/24", "dev", "eth0")
        ip(*inside, "link", "set", "lo", "up")
        ip(*inside, "link", "set", "eth0", "up")
        # So that packets of a machine that is cut off are dropped, and not refused by itself: it knows the way.
        ip(*inside, "neigh", "replace", DATABASE, "lladdr", BRIDGE_MAC, "dev", "eth0", "nud", "permanent")
        space = machine.namespace = Namespace(name)
        for port in self.outside:
            listener = space.make(lambda port=port: listen("127.0.0.1", port))  # type: ignore[misc]
            machine.relays.append(Relay(listener, reach("127.0.0.1", port)))
        if name == "web":
            there = reach("127.0.0.1", self.port)
            machine.relays.append(Relay(listen("127.0.0.1", self.port), lambda: space.make(there)))

    def join_all(self) -> None:
        """Leave no machine cut off."""
        for machine in self.machines.values():
            with suppress(subprocess.CalledProcessError):
                machine.join()
