"""A bar that shows how far a command is."""

from typing import Any

WIDTH = 30


class Bar:
    """How far it is, for people: nothing is shown where nobody watches."""

    def __init__(self, out: Any, size: int) -> None:
        self.out, self.size = out, size
        self.watched = size > 0 and out.isatty()

    def show(self, position: int, words: str) -> None:
        if self.watched:
            share = min(1.0, position / self.size)
            drawn = "█" * round(WIDTH * share)
            self._write(f"{drawn:░<{WIDTH}} {share:4.0%}  {words}")

    def clear(self) -> None:
        """Make room for a line of the report."""
        if self.watched:
            self._write("")

    def _write(self, text: str) -> None:
        self.out.write(f"\r\x1b[K{text}", str, ending="")  # `str`: not in the red of errors
        self.out.flush()
