"""Plain words, no numbers of requirements, and one class for one name."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from tests.support.commands import ROOT
from tests.support.packages import PACKAGES

READ = {".py", ".html", ".md", ".txt", ".js", ".css", ".toml", ".yml", ".yaml", ".service", ""}
# A dialect of our own, which readers of other job queues do not know.
DIALECT = re.compile(r"\b(told|spoken|stillness|anew|mend)\b", re.IGNORECASE)
# Requirements are numbered elsewhere; here a name states the behaviour. A PDF's version is no requirement.
REQUIREMENT = re.compile(r"\b(?:OCI|CON|ORC|PDF)-\d{1,2}\b(?!\.\d)|\bdef test_(?:oci|con|orc|pdf)_\d|\b00\d §")
# Each command is a `Command`, as Django wants it; `Meta` and `Media` are inner classes.
NAMED_BY_DJANGO = {"Command", "DatabaseWrapper"}


def files(*places: str) -> Iterator[Path]:
    for place in places:
        path = ROOT / place
        for found in [path] if path.is_file() else sorted(path.rglob("*")):
            if found.is_file() and found.suffix in READ and "images" not in found.parts:
                yield found


def lines_with(pattern: re.Pattern[str], paths: Iterator[Path]) -> list[str]:
    found = []
    for path in paths:
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if pattern.search(line):
                found.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()[:100]}")
    return found


def test_product_templates_and_documents_are_in_plain_words() -> None:
    documents = ["docs", "README.md", "CONTRIBUTING.md", "CHANGELOG.md", "Makefile", "pyproject.toml", "deploy"]

    assert lines_with(DIALECT, files(*PACKAGES, "templates", *documents)) == []


def test_code_and_tests_name_no_requirements() -> None:
    ours = (path for path in files(*PACKAGES, "templates", "tests") if path.name != Path(__file__).name)

    assert lines_with(REQUIREMENT, ours) == []


def test_each_class_of_the_product_has_a_name_of_its_own() -> None:
    defined = defaultdict(list)
    for path in files(*PACKAGES):
        if path.suffix == ".py" and "migrations" not in path.parts:
            for node in ast.parse(path.read_text()).body:
                if isinstance(node, ast.ClassDef) and node.name not in NAMED_BY_DJANGO:
                    defined[node.name].append(str(path.relative_to(ROOT)))

    assert {name: places for name, places in defined.items() if len(places) > 1} == {}
