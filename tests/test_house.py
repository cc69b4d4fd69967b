"""What the repository promises about itself: size, plain words, one name for one thing, documents that are true."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from django.contrib import admin

from kilit.lock.management.commands.lifecycle_docs import document, lifecycle_models
from tests.support import durations
from tests.support.commands import ROOT
from tests.support.packages import PACKAGES

SOURCES = sorted(
    path for package in PACKAGES for path in (ROOT / package).rglob("*.py") if "migrations" not in path.parts
)
TESTS = sorted((ROOT / "tests").rglob("*.py"))
SUPPORT = sorted((ROOT / "tests" / "support").rglob("*.py"))
LONGEST_FILE, LONGEST_FUNCTION = 400, 40  # lines
MOST_MODULES = 25  # in a folder
MOST_CLASSES = 6  # of ours in the MRO of an admin
MOST_SUPPRESSIONS, MOST_ANY = 2, 20  # per 1,000 lines
SHARED = re.compile(r"^\s*from tests\.[a-z_.]*(conftest|test_)|^\s*from tests\.[a-z_.]* import test_", re.MULTILINE)


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_the_diagrams_are_those_of_the_tables() -> None:
    models = [model for model in lifecycle_models() if model._meta.app_label != "parcels"]

    assert (ROOT / "docs" / "lifecycle.md").read_text() == document(models), "run manage.py lifecycle_docs"


def writes_a_state(tree: ast.AST) -> Iterator[int]:
    """Find the lines that assign to `.status` or pass `status=` to an update."""
    for node in ast.walk(tree):
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if any(isinstance(target, ast.Attribute) and target.attr == "status" for target in targets):
            yield node.lineno
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "update":
            yield from (node.lineno for keyword in node.keywords if keyword.arg == "status")


def test_only_the_lock_writes_a_state() -> None:
    outside = [path for path in SOURCES if not path.is_relative_to(ROOT / "kilit" / "lock")]

    found = [f"{name_of(path)}:{line}" for path in outside for line in writes_a_state(ast.parse(path.read_text()))]

    assert found == []


def test_files_stay_small() -> None:
    lines = {name_of(path): len(path.read_text().splitlines()) for path in [*SOURCES, *TESTS]}

    assert {name: number for name, number in lines.items() if number > LONGEST_FILE} == {}


def test_folders_stay_small() -> None:
    modules = Counter(name_of(path.parent) for path in SOURCES if path.name != "__init__.py")

    assert {name: number for name, number in modules.items() if number > MOST_MODULES} == {}


def per_thousand_lines(pattern: str) -> float:
    texts = [path.read_text() for path in SOURCES]
    return 1000 * sum(len(re.findall(pattern, text)) for text in texts) / sum(text.count("\n") for text in texts)


def test_few_lines_are_excused_from_a_rule() -> None:
    assert per_thousand_lines(r"# (noqa|type: ignore)") < MOST_SUPPRESSIONS, "see [tool.ruff.lint] in pyproject.toml"


def test_types_say_what_a_value_is() -> None:
    assert per_thousand_lines(r"\bAny\b") < MOST_ANY


def test_functions_stay_small() -> None:
    found = [
        f"{name_of(path)}:{node.lineno} {node.name}"
        for path in [*SOURCES, *SUPPORT]
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.end_lineno - node.lineno >= LONGEST_FUNCTION
    ]

    assert found == []


def test_a_list_of_the_console_has_few_classes() -> None:
    own_classes = {
        type(model_admin).__name__: [
            base.__name__ for base in type(model_admin).__mro__ if base.__module__.split(".")[0] in PACKAGES
        ]
        for model_admin in admin.site._registry.values()
    }

    assert {name: bases for name, bases in own_classes.items() if len(bases) > MOST_CLASSES} == {}


def test_tests_share_only_what_is_in_support() -> None:
    assert [name_of(path) for path in TESTS if SHARED.search(path.read_text())] == []


def test_tests_are_in_folders_named_as_what_they_test() -> None:
    """A room of a package is a folder or a module."""
    trees = [ROOT / "tests", ROOT / "tests" / "processes"]
    files = [(tree, path) for tree in trees for package in PACKAGES for path in (tree / package).rglob("*.py")]
    rooms = {ROOT / path.parent.relative_to(tree) for tree, path in files}

    assert sorted(name_of(room) for room in rooms if not room.is_dir() and not room.with_suffix(".py").exists()) == []


def test_every_file_in_the_list_of_durations_exists() -> None:
    assert [file for file in durations.listed() if not (ROOT / file).exists()] == []


def test_the_readme_opens_with_the_two_commands() -> None:
    first_screen = (ROOT / "README.md").read_text()[:1500]

    assert "make up" in first_screen
    assert "make test" in first_screen


def test_every_variable_the_settings_read_is_documented() -> None:
    modules = [*(ROOT / "config" / "settings").glob("*.py"), ROOT / "config" / "runner" / "settings.py"]
    names = {name for path in modules for name in re.findall(r'env\.\w+\(\s*"([A-Z_]+)"', path.read_text())}
    documented = (ROOT / "docs" / "configuration.md").read_text()

    assert names
    assert [name for name in sorted(names) if f"`{name}`" not in documented] == []


def test_the_lock_file_names_packages_versions_and_hashes_only() -> None:
    lines = (ROOT / "requirements.txt").read_text().splitlines()

    # `make audit` reads the packages by this form, too.
    form = re.compile(r"[\w.-]+==[\w.]+( ; [^\\:]+)? \\|    --hash=sha256:[0-9a-f]{64}( \\)?")
    assert [line for line in lines if not form.fullmatch(line)] == []
