"""The threat model names tests that there are, and packages are installed as it says."""

import re

from tests.support.commands import ROOT

DOCUMENT = (ROOT / "docs" / "security.md").read_text()
ROWS = [line for line in DOCUMENT.partition("## Threats")[2].partition("\n## ")[0].splitlines() if "`test_" in line]


def test_every_test_that_the_threat_model_names_exists() -> None:
    named = set(re.findall(r"`(test_\w+)`", DOCUMENT))
    known = {
        name for path in (ROOT / "tests").rglob("test_*.py") for name in re.findall(r"def (test_\w+)", path.read_text())
    }

    assert len(named) > 80
    assert named - known == set()


def test_every_threat_has_what_protects_and_a_test() -> None:
    lines = [
        line for line in DOCUMENT.partition("## Threats")[2].partition("\n## ")[0].splitlines() if line[:2] == "| "
    ]

    assert len(ROWS) == len(lines) - 1  # the heading
    assert all(len(line.strip("|").split(" | ")) == 3 for line in ROWS)


def test_packages_are_installed_by_their_hashes() -> None:
    makefile = (ROOT / "Makefile").read_text()
    installing = [line for line in makefile.splitlines() if "uv pip install" in line]

    assert len(installing) == 2
    assert all("--require-hashes" in line for line in installing)
    for name in ("requirements.txt", "requirements-dev.txt", "requirements-runner.txt"):
        packages = re.split(r"\n(?=\w)", (ROOT / name).read_text())
        assert all("==" in package and "--hash=sha256:" in package for package in packages), name
