"""What the outside world saw: each client writes down its requests and the replies.

A line is appended by one write, so that a client killed at any moment leaves whole lines.
"""

import json
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any


class Ledger:
    """Lines of one client."""

    def __init__(self, folder: Path, name: str) -> None:
        """Open a file of this client's own; one that is started again goes on in it."""
        self.file = os.open(folder / f"{name}.jsonl", os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)

    def note(self, what: str, **facts: Any) -> None:
        """Write one line."""
        os.write(self.file, json.dumps({"what": what, **facts}).encode() + b"\n")


def lines(folder: Path, what: str) -> Iterator[dict[str, Any]]:
    """Return what was noted under a word, by all clients."""
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_text().splitlines():
            found = json.loads(line)
            if found["what"] == what:
                yield found


def counted(folder: Path, what: str) -> Counter[str]:
    """Return how often each id was noted under a word."""
    return Counter(name for line in lines(folder, what) for name in line["ids"])
