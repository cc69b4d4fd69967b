"""Every sentence of the sources that is to be translated, found without GNU gettext, which not every machine has."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from django.utils.translation.template import templatize

from tests.support.commands import ROOT
from tests.support.packages import PRODUCT

MODULE = "django.utils.translation"
# How many of a function's first arguments are sentences.
SENTENCES = {"gettext": 1, "gettext_lazy": 1, "gettext_noop": 1, "ngettext": 2, "ngettext_lazy": 2}
LITERAL = r"""u?("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')"""
IN_TEMPLATE = re.compile(rf"(?:\bn?gettext|\b_)\({LITERAL}(?:,\s*{LITERAL})?")


def sentences() -> dict[str, str]:
    """Return each sentence with the file it is in."""
    code = (path for app in PRODUCT for path in (ROOT / app).rglob("*.py") if "migrations" not in path.parts)
    folders = [ROOT / "templates", *(ROOT / app for app in PRODUCT)]
    files = (path for folder in folders for end in ("html", "txt") for path in folder.rglob(f"*.{end}"))
    pages = (path for path in files if "pdf" not in path.relative_to(ROOT).parts)
    found = {text: str(path.relative_to(ROOT)) for path in code for text in in_code(path)}
    return found | {text: str(path.relative_to(ROOT)) for path in pages for text in in_page(path)}


def in_code(path: Path) -> Iterator[str]:
    """Return what a module has translated, by whatever name it calls gettext."""
    tree = ast.parse(path.read_text())
    called = {
        alias.asname or alias.name: SENTENCES[alias.name]
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == MODULE
        for alias in node.names
        if alias.name in SENTENCES
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in called:
            for given in node.args[: called[node.func.id]]:
                if isinstance(given, ast.Constant) and isinstance(given.value, str):
                    yield given.value


def in_page(path: Path) -> Iterator[str]:
    """Return what a template has translated."""
    for match in IN_TEMPLATE.finditer(templatize(path.read_text())):
        yield from (ast.literal_eval(text) for text in match.groups() if text)
