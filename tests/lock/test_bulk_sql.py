"""The fast SQL paths lean on parts of Django and psycopg that are not documented."""

import django
import psycopg

from kilit.lock import bulk_sql, compiled

CHECKED = {"Django": (5, 2), "psycopg": (3, 3)}


def test_the_versions_are_those_the_fast_paths_were_checked_with() -> None:
    installed = {
        "Django": django.VERSION[:2],
        "psycopg": tuple(int(part) for part in psycopg.__version__.split(".")[:2]),
    }
    assert installed == CHECKED, "read again what the docstrings of bulk_sql and compiled list, then change CHECKED"

    for name, (major, minor) in CHECKED.items():
        assert f"{name} {major}.{minor}" in (bulk_sql.__doc__ or "")
    assert "Django {}.{}".format(*CHECKED["Django"]) in (compiled.__doc__ or "")
