"""`make bench`: run every figure, or those named with --only, print a table and write var/bench.json."""

import argparse
import os
import sys

import django


def main() -> None:
    """Measure on a fresh test database of the embedded PostgreSQL."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
    django.setup()
    from django.conf import settings  # noqa: PLC0415
    from django.db import connection  # noqa: PLC0415

    from tests.benchmarks import lock  # noqa: PLC0415
    from tests.benchmarks.harness import measure, report  # noqa: PLC0415

    figures = {lock.FIGURE.name: (lock.prepare, lock.FIGURE)}
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--only", nargs="+", choices=figures, default=list(figures), metavar="NAME")
    chosen = parser.parse_args().only
    name = connection.creation.create_test_db(verbosity=0, autoclobber=True)
    try:
        results = {}
        for figure in chosen:
            prepare, comparison = figures[figure]
            prepare()
            results[figure] = measure(comparison)
        sys.stdout.write(report(results, path=settings.BASE_DIR / "var" / "bench.json") + "\n")
    finally:
        connection.creation.destroy_test_db(name, verbosity=0)


if __name__ == "__main__":
    main()
