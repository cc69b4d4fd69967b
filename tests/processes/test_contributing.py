"""The queue and the PDF template of CONTRIBUTING.md, made in a copy of the repository as it says."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.commands import ROOT, fresh_environment
from tests.support.waiting import PATIENCE

FILES = re.compile(r"^`([\w/.]+)`:\n\n```(?:python|html|json)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MOST_FILES, MOST_LINES, MOST_TOUCHED = 7, 350, 6  # of a new queue
GUIDE = (ROOT / "CONTRIBUTING.md").read_text()
LEFT_OUT = (".git", ".venv", ".env", "var", ".hypothesis", ".*_cache")
# What all queues have: their tests find a new one by its declaration.
HOUSE_WIDE = (
    "tests/kilit/api/test_schema.py",
    "tests/kilit/ask/test_every_queue.py",
    "tests/kilit/console/dashboard/test_queue_pauses.py",
    "tests/kilit/console/lists/test_every_queue.py",
    "tests/kilit/console/test_navigation.py",
    "tests/kilit/problems/test_ended_by_hand.py",
    "tests/test_house.py",
)
# Step 8 of the queue, by the beginning of a line of pyproject.toml.
LISTED = {
    'known-first-party = ["config", ': '"letters", ',
    'packages = ["config", "kilit", "kilit_cli", "ociqueue", ': '"letters", ',
    'root_packages = ["config", ': '"letters", ',
    'layers = ["config | simulators", "': "letters | ",
    'source_modules = ["config", "kilit", "ociqueue", "pdfjobs", "orchestrator", "outbox"': ', "letters"',
    'allowed_importers = ["config", ': '"letters.admin", ',
    'source = ["config", ': '"letters", ',
}


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert text.count(old) == 1, f"{path.name} has no {old!r}"
    path.write_text(text.replace(old, new))


def run(folder: Path, *arguments: str) -> None:
    ended = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=fresh_environment(KILIT_VAR=str(folder / "var")),
        capture_output=True,
        text=True,
        timeout=4 * PATIENCE,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_a_new_queue_is_short() -> None:
    queue = GUIDE.partition("## Add a webhook kind")[0]
    lines = {name: text.count("\n") for name, text in FILES.findall(queue) if name.startswith("letters/")}
    touched = re.findall(r"^\| `([\w/]*\.\w+)` \|", GUIDE.partition("**8. ")[2].partition("**9. ")[0], re.MULTILINE)

    assert 0 < len(lines) <= MOST_FILES
    assert sum(lines.values()) <= MOST_LINES
    assert 0 < len(touched) <= MOST_TOUCHED
    assert all((ROOT / name).exists() for name in touched)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the repository in which somebody followed the guide up to its commands."""
    folder = tmp_path / "kilit"
    shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(*LEFT_OUT))  # with Python's caches, which save a minute
    for name, text in FILES.findall(GUIDE):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    for package in ("letters", "tests/letters"):
        (folder / package / "__init__.py").touch()
    edit(folder / "config" / "settings" / "server.py", '    "config",\n', '    "letters",\n    "config",\n')
    for line, addition in LISTED.items():
        edit(folder / "pyproject.toml", f"\n{line}", f"\n{line}{addition}")
    edit(folder / ".dockerignore", "!kilit\n", "!kilit\n!letters\n")
    (row,) = re.findall(r"^\| `letters` \|.*$", GUIDE, re.MULTILINE)
    edit(folder / "docs" / "map.md", "| `outbox` |", f"{row}\n| `outbox` |")
    return folder


@pytest.mark.nightly  # a document
def test_the_files_of_the_guide_fit_and_a_template_renders(copy: Path) -> None:
    catalogue = copy / "pdfjobs" / "documents" / "catalogue.py"
    edit(catalogue, "\nKNOWN = ", "\nfrom pdfjobs.documents.kinds.receipt import RECEIPT\n\nKNOWN = ")
    edit(catalogue, "(INVOICE, ", "(RECEIPT, INVOICE, ")
    render = "from pdfjobs.documents.kinds.receipt import RECEIPT; assert '1.250,50' in RECEIPT.html(RECEIPT.sample)"

    run(copy, "-m", "pytest", "--collect-only", "tests/letters", "-p", "no:cacheprovider")
    run(copy, "manage.py", "shell", "--no-imports", "--command", render)


@pytest.mark.nightly
def test_a_queue_made_by_the_guide_passes_its_tests_and_those_of_all_queues(copy: Path) -> None:
    """It is nightly, for it takes more than a minute: types without a cache, then the tests."""
    run(copy, "manage.py", "makemigrations", "letters")
    run(copy, "manage.py", "lifecycle_docs")
    run(copy, "manage.py", "spectacular", "--file", "docs/openapi.yaml")
    run(copy, "-m", "tests.support.repository_map")
    run(copy, "-m", "mypy", "--package", "letters")
    run(copy, "-m", "pytest", "tests/letters", *HOUSE_WIDE, "-p", "no:cacheprovider")

    assert "## letter" in (copy / "docs" / "lifecycle.md").read_text().lower()
    assert "/api/letters/{id}/retry:" in (copy / "docs" / "openapi.yaml").read_text()
