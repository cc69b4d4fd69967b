"""docs/map.md says what the tree and the import contracts say."""

import re
import tomllib
from collections.abc import Iterator

from tests.support.commands import ROOT

MAP = (ROOT / "docs" / "map.md").read_text()
ROW = re.compile(r"^\| `([\w/]+)` \| ([\d,]+) \| .+ \| (.+) \|$", re.MULTILINE)
TOLERANCE = 0.15  # of the lines, which the map rounds to hundreds


def contracts() -> Iterator[tuple[str, list[list[str]]]]:
    """Return each layers contract: the package it is about ("" for the top), and its layers from the top down."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    for contract in settings["contracts"]:
        if contract["type"] == "layers":
            layers = [[name.strip(" ()") for name in re.split(r"[|:]", layer)] for layer in contract["layers"]]
            yield contract.get("containers", [""])[0], layers


def allowed() -> dict[str, set[str]]:
    """Return what each package may import, by the contracts: every layer below its own."""
    found: dict[str, set[str]] = {}
    for container, layers in contracts():
        for number, layer in enumerate(layers):
            below = {name for lower in layers[number + 1 :] for name in lower}
            found |= {f"{container}/{name}".lstrip("/").replace(".", "/"): below for name in layer}
    return found


def documented() -> dict[str, set[str]]:
    return {package: set(re.findall(r"`(\w+)`", imports)) for package, _, imports in ROW.findall(MAP)}


def lines_of(package: str) -> int:
    root = ROOT / package
    paths = [root.with_suffix(".py")] if not root.is_dir() else root.rglob("*.py")
    return sum(len(path.read_text().splitlines()) for path in paths if "migrations" not in path.parts)


def test_every_package_of_a_contract_is_on_the_map_with_what_it_may_import() -> None:
    assert documented() == allowed()


def test_every_package_on_the_map_exists_and_has_about_so_many_lines() -> None:
    wrong = {}
    for package, lines, _ in ROW.findall(MAP):
        stated, found = int(lines.replace(",", "")), lines_of(package)
        if abs(stated - found) > max(100, TOLERANCE * found):
            wrong[package] = f"{stated} on the map, {found} in the tree"

    assert wrong == {}
