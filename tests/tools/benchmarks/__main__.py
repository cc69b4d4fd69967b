"""`make bench`: run every figure, or those named with --only, print a table and write var/bench.json."""

import argparse
import importlib
import os
import pkgutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import django

if TYPE_CHECKING:
    from tests.tools.benchmarks.harness import Figure

APART = {"harness", "__main__"}


def found_figures() -> dict[str, "Figure"]:
    """Return the figures of every module in this folder that has some."""
    modules = sorted(
        found.name for found in pkgutil.iter_modules([str(Path(__file__).parent)]) if found.name not in APART
    )
    loaded = [importlib.import_module(f"tests.tools.benchmarks.{name}") for name in modules]
    return {figure.name: figure for module in loaded for figure in getattr(module, "FIGURES", [])}


def main() -> None:
    """Measure on a fresh test database of the embedded PostgreSQL."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
    django.setup()
    from django.conf import settings
    from django.db import connection

    from tests.tools.benchmarks.harness import measure_all, report, scope

    figures = found_figures()
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--only", nargs="+", choices=figures, default=list(figures), metavar="NAME")
    parser.add_argument("--full", action="store_true", help="take the sizes in full, however long that takes")
    asked = parser.parse_args()
    scope.full = asked.full
    name = connection.creation.create_test_db(verbosity=0, autoclobber=True)
    try:
        results = dict(measure_all(figure for figure in figures.values() if figure.name in asked.only))
        sys.stdout.write(report(results, path=settings.BASE_DIR / "var" / "bench.json") + "\n")
        if any("error" in result for result in results.values()):
            sys.exit(1)
    finally:
        connection.creation.destroy_test_db(name, verbosity=0)


if __name__ == "__main__":
    main()
