"""A proxy on loopback that cuts a connection exactly at its COMMIT: before the server gets it, or before its answer.

A server that is shut down just then, as in a switchover, answers and ends the session in one message ("session").
"""

import re
import socket
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Literal

from simulators.relay import Relay
from tests.support.faulty_network import Address, connect_to, connected_through, server_address

Cut = Literal["", "request", "answer", "session"]
BEGIN, COMMIT, ROLLBACK = b"BEGIN", b"COMMIT", b"ROLLBACK"
WRITES = re.compile(rb"(?:INSERT INTO|UPDATE|DELETE FROM|WITH) .{1,2000}", re.DOTALL)
VALUES = re.compile(rb"'[^']*'?|\d+")  # of a statement, which are in its text
SESSION_ENDS = b"SFATAL\0VFATAL\0C57P01\0Mterminating connection due to administrator command\0\0"


class CuttingProxy(Relay):
    """Passes everything until `cut` is set; then the next message with `words` is the connection's last one.

    With `cut_each`, it cuts at every commit, but at those of the same statement only once: work that goes on after each
    of them ends some time.
    """

    def __init__(self, upstream: Address) -> None:
        self.cut: Cut = ""
        self.cut_each: Cut = ""
        self.words = COMMIT
        self.cuts = 0
        self.seen: set[bytes] = set()
        self.commits: dict[socket.socket, CommitsSeen] = defaultdict(CommitsSeen)
        super().__init__(partial(connect_to, upstream))

    def pass_on(self, message: bytes, source: socket.socket, target: socket.socket, *, is_request: bool) -> bool:
        if is_request and (statement := self.commits[source].look(message)) and self.cut_each:
            self.cut, self.words = ("" if statement in self.seen else self.cut_each), message
            self.seen.add(statement)
        if not (is_request and self.cut and self.words in message):
            return super().pass_on(message, source, target, is_request=is_request)
        if self.cut != "request":
            target.sendall(message)
            answer = target.recv(65536)  # the server did it
        if self.cut == "session":
            source.sendall(answer[: 1 + int.from_bytes(answer[1:5])])
            source.sendall(b"E" + (4 + len(SESSION_ENDS)).to_bytes(4) + SESSION_ENDS)
        self.cut, self.cuts = "", self.cuts + 1
        return False


class CommitsSeen:
    """Follows the transactions of one connection."""

    def __init__(self) -> None:
        self.is_open, self.last = False, b""

    def look(self, message: bytes) -> bytes:
        """Return the statement that this message commits, if it does: a COMMIT's last one, or the message itself."""
        if found := WRITES.search(message):
            self.last = VALUES.sub(b"?", found[0])
        if BEGIN in message:
            self.is_open = True
        if COMMIT in message or ROLLBACK in message:
            self.is_open = False
            return self.last if COMMIT in message else b""
        return self.last if found and not self.is_open else b""


@contextmanager
def cutting_proxy() -> Iterator[CuttingProxy]:
    """Let this thread's connection to the test database pass through a proxy."""
    proxy = CuttingProxy(server_address())
    try:
        with connected_through(proxy.port):
            yield proxy
    finally:
        proxy.close()
