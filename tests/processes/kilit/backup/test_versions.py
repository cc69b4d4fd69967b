"""Backups of every PostgreSQL that Kilit supports, and what an older server can read."""

import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from kilit.backup.manifest import NAME
from ociqueue.models import Site
from tests.support.installation_contents import contents
from tests.support.other_database import connected_to
from tests.support.private_server import MISSING, VERSIONS, find_server, private_server

pytestmark = pytest.mark.nightly  # test_backup.py restores into the embedded version


class Database:
    """What the comparison asks of an installation."""

    def __init__(self, url: str) -> None:
        self.url = url

    def connect(self) -> psycopg.Connection[Any]:
        return psycopg.connect(self.url, autocommit=True)

    def ask(self, statement: str) -> list[tuple[Any, ...]]:
        with self.connect() as connection:
            return connection.execute(statement).fetchall()

    def contents(self) -> dict[str, Counter[str]]:
        return contents(self)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def database() -> Iterator[Callable[..., str]]:
    """Return the URL of a database on a server of a version, or skip the test."""
    with ExitStack() as stack:

        @cache
        def server(version: int) -> Callable[[str], str]:
            if not (programs := find_server(version)):
                pytest.skip(MISSING.format(version))
            return stack.enter_context(private_server(programs))

        yield lambda version, name="kilit": server(version)(name)


@pytest.fixture(scope="module")
def oldest(database, tmp_path_factory: pytest.TempPathFactory, django_db_setup, django_db_blocker) -> tuple[str, Path]:
    """A database on the oldest server here, and a backup of it."""
    url = database(next(version for version in VERSIONS if find_server(version)), "source")
    backup = tmp_path_factory.mktemp("backups") / "oldest"
    with django_db_blocker.unblock(), connected_to(url):
        call_command("migrate", verbosity=0)
        site = Site.objects.create(name="Çınar Mobilya", default_currency="TRY")
        sale = {"value": "12.50", "currency": "TRY", "conversion_time": timezone.now()}
        site.conversions.create(action="Teklif", gclid="c1", order_id="1", **sale)
        site.conversions.claim(limit=1)
        call_command("backup", backup)
    return url, backup


@pytest.mark.parametrize("version", VERSIONS)
def test_backups_are_restored_into_the_same_and_newer_versions(
    version: int, oldest, database, tmp_path: Path, django_db_blocker
) -> None:
    url, backup = oldest
    expected = Database(url).contents()
    with django_db_blocker.unblock(), connected_to(target := database(version)):
        call_command("restore", backup)
        assert Database(target).contents() == expected
        call_command("backup", tmp_path / "again")
        call_command("restore", "--replace", tmp_path / "again")

    assert Database(target).contents() == expected
    facts = json.loads((tmp_path / "again" / NAME).read_text())
    assert facts["server"].startswith(f"{version}.")
    assert int(facts["client"].partition(".")[0]) >= version


def test_a_backup_of_a_newer_server_is_refused_before_an_older_one_is_changed(
    oldest, tmp_path: Path, django_db_blocker
) -> None:
    url, made = oldest
    backup = Path(shutil.copytree(made, tmp_path / "newer"))
    before = Database(url).contents()
    facts = json.loads((backup / NAME).read_text())
    (backup / NAME).write_text(json.dumps({**facts, "client": "18.4", "server": "18.4"}))

    with django_db_blocker.unblock(), connected_to(url), pytest.raises(CommandError) as refused:
        call_command("restore", "--replace", backup)

    assert "cannot be restored into PostgreSQL 1" in str(refused.value)
    assert "use a server of version 17 or newer" in str(refused.value)
    assert Database(url).contents() == before
