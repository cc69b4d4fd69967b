"""Output of a run."""

import sys


def tell(words: str) -> None:
    """Say it at once: a run takes minutes."""
    sys.stdout.write(f"{words}\n")
    sys.stdout.flush()
