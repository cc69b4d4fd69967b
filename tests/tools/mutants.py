"""`make mutants`: remove each protection of docs/security.md once, in a copy, and see the tests that it names fail.

A patch in tests/security/mutants begins with two lines: the threat it lets in, and the tests that have to notice.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.support.commands import ROOT, fresh_environment

FOLDER = ROOT / "tests" / "security" / "mutants"
LEFT_OUT = shutil.ignore_patterns("var", ".git", ".venv", ".*_cache", ".hypothesis")
PYTEST = ("-q", "-p", "no:cacheprovider", "-p", "no:randomly", "-rf", "--tb=no")
REMOVED, ADDED = (" ", "-"), (" ", "+")
FAILED = re.compile(r"^FAILED \S+?::(test_\w+)", re.MULTILINE)


@dataclass(frozen=True)
class Change:
    """A hunk of a patch: a piece of a file, and what replaces it."""

    file: str
    before: str
    after: str

    def apply(self, root: Path) -> None:
        path = root / self.file
        text = path.read_text()
        if text.count(self.before) != 1:
            raise ValueError(f"{self.file} does not have exactly one piece like this:\n{self.before}")
        path.write_text(text.replace(self.before, self.after))


@dataclass(frozen=True)
class Mutant:
    name: str
    threat: str
    tests: tuple[str, ...]
    changes: tuple[Change, ...]

    @property
    def files(self) -> set[str]:
        return {change.file for change in self.changes}

    @property
    def is_of_the_database(self) -> bool:
        """Return whether it changes what migrations leave in the database; roles are granted after each of them."""
        return any("/migrations/" in file or file.endswith("/roles.py") for file in self.files)


def read_mutants(folder: Path = FOLDER) -> list[Mutant]:
    return [read_mutant(path.stem, path.read_text()) for path in sorted(folder.glob("*.patch"))]


def read_mutant(name: str, patch: str) -> Mutant:
    head, *files = re.split(r"^--- .*\n\+\+\+ b/", patch, flags=re.MULTILINE)
    fields = dict(line.split(": ", 1) for line in head.splitlines() if ": " in line)
    return Mutant(name, fields["Threat"], tuple(fields["Tests"].split(", ")), tuple(_changes(files)))


def _changes(files: Sequence[str]) -> Iterator[Change]:
    for text in files:
        file, *hunks = re.split(r"\n@@ .*", text)
        for hunk in hunks:
            lines = hunk.splitlines()[1:]
            before, after = (
                "".join(f"{line[1:]}\n" for line in lines if line[:1] in kinds) for kinds in (REMOVED, ADDED)
            )
            yield Change(file, before, after)


def places_of_tests() -> dict[str, list[str]]:
    """Return the ids by which pytest runs each test. Names in docs/security.md are those of one test."""
    places: dict[str, list[str]] = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for name in re.findall(r"^def (test_\w+)", path.read_text(), flags=re.MULTILINE):
            places.setdefault(name, []).append(f"{path.relative_to(ROOT)}::{name}")
    return places


def failing(folder: Path, tests: Sequence[str], *options: str) -> set[str]:
    """Run tests in a copy, and return those that failed; an error before or after a test is no failure of it."""
    places = places_of_tests()
    ids = sorted({place for name in tests for place in places[name]})
    stop = ["-x"] if len(set(tests)) == 1 else []  # of a test with many parameters, the first that fails is enough
    # The PostgreSQL of `make test`, and one database: to make it takes longer than most of the tests.
    own = {"KILIT_VAR": str(ROOT / "var" / "test"), "KILIT_TEST_DATABASE": f"test_kilit_mutants_{os.getpid()}"}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *PYTEST, *stop, *options, *ids],
        cwd=folder,
        env=fresh_environment(**own),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode not in (0, 1):
        raise RuntimeError(done.stdout + done.stderr)
    return set(FAILED.findall(done.stdout))


def unnoticed(mutant: Mutant, copy: Path) -> set[str]:
    """Apply a patch for a moment, and return the tests that pass with it."""
    for file in mutant.files:
        shutil.copy2(copy / file, copy / f"{file}.whole")  # with its time, which its compiled form has
    for change in mutant.changes:
        change.apply(copy)
    try:
        kept = "--create-db" if mutant.is_of_the_database else "--reuse-db"
        return set(mutant.tests) - failing(copy, mutant.tests, kept)
    finally:
        for file in mutant.files:
            shutil.move(copy / f"{file}.whole", copy / file)


def try_all(mutants: Sequence[Mutant], copy: Path) -> int:
    """Print what became of each, and return how many were caught."""
    tests = [test for mutant in mutants for test in mutant.tests]
    if broken := failing(copy, tests, "--create-db", "--reuse-db"):
        sys.exit(f"These fail without any patch: {', '.join(sorted(broken))}")
    caught = 0
    for mutant in mutants:
        missed = unnoticed(mutant, copy)
        caught += not missed
        result = f"NOT CAUGHT by {', '.join(sorted(missed))}" if missed else "caught"
        sys.stdout.write(f"{mutant.name:30} {result}\n")
        sys.stdout.flush()
    return caught


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", help="names of patches, without .patch")
    chosen = parser.parse_args().only
    mutants = [mutant for mutant in read_mutants() if not chosen or mutant.name in chosen]
    mutants.sort(key=lambda mutant: mutant.is_of_the_database)  # after which there is no database to use again
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "kilit"
        shutil.copytree(ROOT, copy, ignore=LEFT_OUT, symlinks=True)
        caught = try_all(mutants, copy)
    sys.stdout.write(f"{caught} of {len(mutants)} were caught.\n")
    sys.exit(caught < len(mutants))


if __name__ == "__main__":
    main()
