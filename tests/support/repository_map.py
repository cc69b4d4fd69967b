"""The tables and the diagram of docs/map.md, checked against the tree and the import contracts of pyproject.toml.

`python -m tests.support.repository_map` writes the columns "lines" and "may import" and the diagram again; the column
"holds" is written by hand.
"""

import re
import tomllib
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from tests.support.commands import ROOT

MAP = ROOT / "docs" / "map.md"
MOST_LISTED = 8
ROW = re.compile(
    r"^\| `(?P<room>[\w/]+)` \| (?P<lines>[\d,]+|–) \| (?P<holds>.+) \| (?P<imports>[^|]+) \|$", re.MULTILINE
)
DIAGRAM = re.compile(r"^```mermaid\n.*?^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Room:
    """A package, or a module of a queue's first level, as a row of the map names it."""

    path: str  # kilit/lock, ociqueue/states
    may_import: tuple[str, ...]

    @property
    def lines(self) -> str:
        """Lines of Python without migrations, rounded to hundreds."""
        folder, module = ROOT / self.path, ROOT / f"{self.path}.py"
        files = [path for path in folder.rglob("*.py") if "migrations" not in path.parts] or [module]
        total = sum(len(path.read_text().splitlines()) for path in files)
        return f"{max(round(total, -2), 100):,}"

    @property
    def imports(self) -> str:
        """All names, or the first of a long list: rows are in the order of the layers."""
        if len(self.may_import) > MOST_LISTED:
            return f"everything from `{self.may_import[0]}` down"
        return ", ".join(f"`{name}`" for name in self.may_import) or "–"


def contracts() -> list[dict[str, Any]]:
    """Return the layers of the map: of packages, of kilit's rooms and of the queues, but not inside kilit's rooms."""
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text())
    layers = [entry for entry in pyproject["tool"]["importlinter"]["contracts"] if entry["type"] == "layers"]
    return [entry for entry in layers if not any("." in name for name in entry.get("containers", ()))]


def split_layers(contract: dict[str, Any]) -> list[list[str]]:
    return [[name.strip(" ()") for name in re.split(r"[|:]", layer)] for layer in contract["layers"]]


def rooms() -> list[Room]:
    """Return a room for each item of each contract; it may import what is below it."""
    found = []
    for contract in contracts():
        layers = split_layers(contract)
        for container in contract.get("containers", [""]):
            for depth, layer in enumerate(layers):
                below = tuple(name for lower in layers[depth + 1 :] for name in lower)
                found += [Room("/".join(filter(None, [container, name])), below) for name in layer]
    return found


def diagram() -> str:
    """Draw the packages and kilit's rooms, each layer with arrows to the next."""
    top = split_layers(contracts()[0])
    (inside,) = (split_layers(contract) for contract in contracts() if contract.get("containers") == ["kilit"])
    chains = [" & ".join(layer) for layer in [*top[:-1], *inside]]
    shared = [f"    {name}" for layer in inside for name in layer]
    arrows = [f"  {upper} --> {lower}" for upper, lower in pairwise(chains)]
    return "\n".join(["```mermaid", "flowchart TD", f"  subgraph {top[-1][0]}", *shared, "  end", *arrows, "```"])


def rewritten() -> str:
    known = {room.path: room for room in rooms()}

    def row(match: re.Match[str]) -> str:
        room = known.get(match["room"])
        return f"| `{room.path}` | {room.lines} | {match['holds']} | {room.imports} |" if room else match[0]

    return DIAGRAM.sub(lambda _: diagram(), ROW.sub(row, MAP.read_text()), count=1)


if __name__ == "__main__":
    MAP.write_text(rewritten())
