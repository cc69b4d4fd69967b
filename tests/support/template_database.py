"""A database that is migrated once; each process of a test run copies it, which takes a moment.

It stays on the server for the next run. Its name has a digest of the sources, so it is never out of date.
"""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.apps import apps
from django.db import connection

from tests.support.commands import ROOT

PREFIX = "kilit_template_"
UNFINISHED = f"{PREFIX}unfinished"


@contextmanager
def copied() -> Iterator[None]:
    """Make test databases as copies of the template. Make it if it is not there, and remove those of other sources."""
    name = f"{PREFIX}{digest_of_sources()}"
    with connection._nodb_cursor() as cursor:
        cursor.execute("SET lock_timeout = 0; SET statement_timeout = 0")  # until another process has made it
        cursor.execute("SELECT pg_advisory_lock(hashtext(%s))", [PREFIX])
        others = templates(cursor)
        if name in others:
            others.remove(name)
        else:
            make(name, cursor)
        cursor.execute("SELECT pg_advisory_lock_shared(hashtext(%s))", [name])  # until this run has ended
        for other in others:
            remove(other, cursor)
        cursor.execute("SELECT pg_advisory_unlock(hashtext(%s))", [PREFIX])
        connection.settings_dict["TEST"]["TEMPLATE"] = name
        yield


def digest_of_sources() -> str:
    """Return a digest of all that makes tables and their first rows: the packages of apps, and what they build on."""
    folders = [Path(app.path).relative_to(ROOT) for app in apps.get_app_configs() if is_ours(Path(app.path))]
    packages = {ROOT / "tests/apps" if folder.parts[0] == "tests" else ROOT / folder.parts[0] for folder in folders}
    sources = sorted(file for package in packages for file in package.rglob("*.py"))
    digest = hashlib.sha256()
    for file in (ROOT / "requirements.txt", *sources):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def is_ours(folder: Path) -> bool:
    return folder.is_relative_to(ROOT) and not folder.is_relative_to(ROOT / ".venv")


def templates(cursor: Any) -> list[str]:
    cursor.execute("SELECT datname FROM pg_database WHERE starts_with(datname, %s)", [PREFIX])
    return [name for (name,) in cursor.fetchall()]


def make(name: str, cursor: Any) -> None:
    """Migrate an empty database, and give it its name when that is done: a process may be killed meanwhile."""
    database = connection.settings_dict
    own_name, own_test = database["NAME"], database["TEST"]
    database["TEST"] = {**own_test, "NAME": UNFINISHED}
    connection.creation.create_test_db(verbosity=0, autoclobber=True, serialize=False)
    connection.close()
    database["NAME"], database["TEST"] = own_name, own_test
    cursor.execute(f"ALTER DATABASE {UNFINISHED} RENAME TO {name}")


def remove(name: str, cursor: Any) -> None:
    """Remove the template of other sources, unless a run uses it."""
    cursor.execute("SELECT pg_try_advisory_lock(hashtext(%s))", [name])
    if cursor.fetchone()[0]:
        cursor.execute(f"DROP DATABASE IF EXISTS {name}")
        cursor.execute("SELECT pg_advisory_unlock(hashtext(%s))", [name])
