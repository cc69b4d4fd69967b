"""The queue and the PDF template of CONTRIBUTING.md, made in a copy of the repository as it says."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

from tests.support.commands import ROOT, fresh_environment
from tests.support.waiting import PATIENCE

FILES = re.compile(r"^`([\w/.]+)`:\n\n```(?:python|html|json)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MOST_FILES, MOST_LINES, MOST_TOUCHED = 7, 350, 6  # of a new queue
COPIED = (*(path.parent.name for path in ROOT.glob("*/__init__.py")), "templates", "docs")


GUIDE = (ROOT / "CONTRIBUTING.md").read_text()


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
    lines = {name: text.count("\n") for name, text in FILES.findall(GUIDE) if name.startswith("letters/")}
    touched = re.findall(r"^\| `([\w/.]+)` \|", GUIDE.partition("**8. ")[2].partition("**9. ")[0], re.MULTILINE)

    assert 0 < len(lines) <= MOST_FILES
    assert sum(lines.values()) <= MOST_LINES
    assert 0 < len(touched) <= MOST_TOUCHED
    assert all((ROOT / name).exists() for name in touched)


def test_a_queue_and_a_template_made_by_the_guide_work(tmp_path: Path) -> None:
    for name in COPIED:  # with Python's caches, or all would be compiled again
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("chaos", "browser"))
    for name in ("manage.py", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    for name, text in FILES.findall(GUIDE):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    for package in ("letters", "tests/letters"):
        (tmp_path / package / "__init__.py").touch()
    edit(tmp_path / "config" / "settings" / "server.py", '    "config",\n', '    "letters",\n    "config",\n')

    catalogue = tmp_path / "pdfjobs" / "documents" / "catalogue.py"
    edit(catalogue, "\nKNOWN = ", "\nfrom pdfjobs.documents.kinds.receipt import RECEIPT\n\nKNOWN = ")
    edit(catalogue, "(INVOICE, ", "(RECEIPT, INVOICE, ")

    run(tmp_path, "manage.py", "makemigrations", "letters")
    run(tmp_path, "manage.py", "lifecycle_docs")
    run(tmp_path, "manage.py", "spectacular", "--file", "docs/openapi.yaml")
    run(tmp_path, "-m", "pytest", "tests/letters", "-p", "no:cacheprovider")
    render = "from pdfjobs.documents.kinds.receipt import RECEIPT; assert '1.250,50' in RECEIPT.html(RECEIPT.sample)"
    run(tmp_path, "manage.py", "shell", "--no-imports", "--command", render)

    assert "## letter" in (tmp_path / "docs" / "lifecycle.md").read_text().lower()
    assert "/api/letters/{id}/retry:" in (tmp_path / "docs" / "openapi.yaml").read_text()
