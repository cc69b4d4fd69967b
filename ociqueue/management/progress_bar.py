"""A progress bar for commands."""

from typing import Any

WIDTH = 30


class ProgressBar:
    """Shows progress on a terminal, and nothing elsewhere."""

    def __init__(self, out: Any, size: int) -> None:
        self.out, self.size = out, size
        self.is_shown = size > 0 and out.isatty()

    def show(self, position: int, text: str) -> None:
        if self.is_shown:
            share = min(1.0, position / self.size)
            drawn = "█" * round(WIDTH * share)
            self._write(f"{drawn:░<{WIDTH}} {share:4.0%}  {text}")

    def clear(self) -> None:
        if self.is_shown:
            self._write("")

    def _write(self, text: str) -> None:
        self.out.write(f"\r\x1b[K{text}", str, ending="")  # `str`: not in the red of errors
        self.out.flush()
