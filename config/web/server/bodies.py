"""Bodies of requests that wait to be complete: in memory while there is room, then in unnamed temporary files.

The files have no name in the file system, so nothing is left of a body when its request ends or the process is killed.
"""

from collections import Counter
from tempfile import SpooledTemporaryFile

from config.web.server.limits import WebLimits
from config.web.server.refusals import body_too_large, no_room_for_body, too_much_of_address


class BodyBudget:
    """What the bodies of all connections of a process occupy together."""

    def __init__(self, limits: WebLimits) -> None:
        self.limits = limits
        self.in_memory = 0
        self.total = 0
        self.of_address: Counter[str] = Counter()


class RequestBody:
    """The body of one request while it arrives. Close it when the request has been answered."""

    def __init__(self, budget: BodyBudget, address: str) -> None:
        self._budget, self._address = budget, address
        self._is_in_memory = True
        self.size = 0
        self.file = SpooledTemporaryFile()  # noqa: SIM115 - closed with this body

    def write(self, data: bytes) -> None:
        limits, budget = self._budget.limits, self._budget
        if self.size + len(data) > limits.body_bytes:
            raise body_too_large(limits.body_bytes)
        if budget.total + len(data) > limits.all_bodies_bytes:
            raise no_room_for_body()
        # A socket of the file system has no address, and no such limit.
        most = limits.address_bodies_bytes if self._address else 0
        if most and budget.of_address[self._address] + len(data) > most:
            raise too_much_of_address(most)
        if self._is_in_memory and (
            self.size + len(data) > limits.body_memory_bytes
            or budget.in_memory + len(data) > limits.all_bodies_memory_bytes
        ):
            self._leave_memory()
            self.file.rollover()
        self.file.write(data)
        self.size += len(data)
        budget.total += len(data)
        budget.of_address[self._address] += len(data)
        if self._is_in_memory:
            budget.in_memory += len(data)

    def close(self) -> None:
        """Free what it occupies; more than once is harmless."""
        if self._is_in_memory:
            self._leave_memory()
        self._budget.total -= self.size
        self._budget.of_address[self._address] -= self.size
        if not self._budget.of_address[self._address]:
            del self._budget.of_address[self._address]
        self.size = 0
        self.file.close()

    def _leave_memory(self) -> None:
        self._is_in_memory = False
        self._budget.in_memory -= self.size
