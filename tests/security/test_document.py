"""The threat model names tests that there are, and packages are installed as it says."""

import ast
import re
import shutil
from pathlib import Path

import pytest

from tests.support.commands import ROOT
from tests.tools.mutants import Mutant, places_of_tests, read_mutants

DOCUMENT = (ROOT / "docs" / "security.md").read_text()
ROWS = [line for line in DOCUMENT.partition("## Threats")[2].partition("\n## ")[0].splitlines() if "`test_" in line]


def test_every_test_that_the_threat_model_names_exists_once() -> None:
    """Of two tests with one name, either could fail without the protection."""
    named = set(re.findall(r"`(test_\w+)`", DOCUMENT))
    places = places_of_tests()

    assert len(named) > 80
    assert {name: places.get(name, []) for name in named if len(places.get(name, [])) != 1} == {}


def test_every_threat_has_what_protects_and_a_test() -> None:
    lines = [
        line for line in DOCUMENT.partition("## Threats")[2].partition("\n## ")[0].splitlines() if line[:2] == "| "
    ]

    assert len(ROWS) == len(lines) - 1  # the heading
    assert all(len(line.strip("|").split(" | ")) == 3 for line in ROWS)


def test_packages_are_installed_by_their_hashes() -> None:
    lines = [line for name in ("Makefile", "deploy/Dockerfile") for line in (ROOT / name).read_text().splitlines()]
    installing = [line for line in lines if "pip install" in line and "uv==" not in line]
    packages = re.split(r"\n(?=\w)", (ROOT / "requirements.txt").read_text())

    assert len(installing) == 1
    assert "--require-hashes --constraint requirements.txt" in installing[0]
    assert all("==" in package and "--hash=sha256:" in package for package in packages)


def test_every_threat_has_one_patch_that_names_tests_of_it() -> None:
    """`make mutants` applies the patches one by one, and sees these tests fail."""
    threats = {line.strip("| ").split(" | ")[0]: set(re.findall(r"`(test_\w+)`", line)) for line in ROWS}
    mutants = read_mutants()

    assert sorted(mutant.threat for mutant in mutants) == sorted(threats)
    assert {mutant.name: set(mutant.tests) - threats[mutant.threat] for mutant in mutants} == {
        mutant.name: set() for mutant in mutants
    }


@pytest.mark.parametrize("mutant", read_mutants(), ids=lambda mutant: mutant.name)
def test_a_patch_still_applies(mutant: Mutant, tmp_path: Path) -> None:
    for file in mutant.files:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / file, tmp_path / file)

    for change in mutant.changes:
        change.apply(tmp_path)

    assert all((tmp_path / file).read_text() != (ROOT / file).read_text() for file in mutant.files)
    for file in mutant.files:
        if file.endswith(".py"):
            ast.parse((tmp_path / file).read_text())  # what cannot be imported proves nothing
