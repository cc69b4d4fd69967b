"""The house in order: what the repository promises about itself."""

import ast
import re
from pathlib import Path

import pytest

from tests.support.commands import ROOT, manage

PACKAGES = ["config", "kilit", "ociqueue", "pdfjobs", "orchestrator"]
SOURCES = sorted(
    path for package in PACKAGES for path in (ROOT / package).rglob("*.py") if "migrations" not in path.parts
)

TESTS = sorted((ROOT / "tests").rglob("*.py"))


def test_the_diagrams_are_those_of_the_tables(tmp_path: Path) -> None:
    ended = manage("lifecycle_docs", "--check", KILIT_VAR=str(tmp_path))

    assert ended.returncode == 0, ended.stderr


def writes_a_state(tree: ast.AST) -> list[int]:
    """Return the lines that assign to `.status` or pass `status=` to an update."""
    found = []
    for node in ast.walk(tree):
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if any(isinstance(target, ast.Attribute) and target.attr == "status" for target in targets):
            found.append(node.lineno)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "update":
            found += [node.lineno for keyword in node.keywords if keyword.arg == "status"]
    return found


@pytest.mark.parametrize("path", [p for p in SOURCES if "lock" not in p.parts], ids=lambda p: str(p.relative_to(ROOT)))
def test_nobody_outside_the_lock_writes_a_state(path: Path) -> None:
    assert writes_a_state(ast.parse(path.read_text())) == []


@pytest.mark.parametrize("path", [*SOURCES, *TESTS], ids=lambda p: str(p.relative_to(ROOT)))
def test_files_stay_small(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 300


def test_the_readme_opens_with_the_two_commands() -> None:
    first_screen = (ROOT / "README.md").read_text()[:1500]

    assert "make up" in first_screen
    assert "make test" in first_screen


def test_every_variable_the_settings_read_is_documented() -> None:
    settings = (ROOT / "config" / "settings.py").read_text()
    names = set(re.findall(r'env\.\w+\(\s*"([A-Z_]+)"', settings))
    documented = (ROOT / "docs" / "configuration.md").read_text()

    assert names
    assert [name for name in sorted(names) if f"`{name}`" not in documented] == []


def test_lock_files_name_packages_versions_and_hashes_only() -> None:
    for name in ("requirements.txt", "requirements-dev.txt"):
        text = (ROOT / name).read_text()
        assert "://" not in text
        assert "--index" not in text
        assert "--find-links" not in text
