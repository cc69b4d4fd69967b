"""What goes wrong, in a sentence, and the exit code that scripts see."""

from collections.abc import Sequence
from enum import IntEnum
from typing import Any


class ExitCode(IntEnum):
    DONE = 0
    REFUSED = 1  # by the server; or not all of it was done
    USAGE = 2  # cyclopts' own code, too
    NO_ACCESS = 3
    NOT_FOUND = 4
    UNREACHABLE = 5  # no answer, or none of Kilit's: the same call may succeed later


class Failure(Exception):
    """A sentence for the user and what to do about it; `error` is what the server said, for machines."""

    def __init__(
        self, message: str, advice: str = "", exit_code: ExitCode = ExitCode.REFUSED, *, error: Any = None
    ) -> None:
        super().__init__(message)
        self.message, self.advice, self.exit_code = message, advice, exit_code
        self.error = error or {"code": exit_code.name, "message": message}
        self.details: Sequence[str] = ()
        self.retry_after = 0
