"""Another database in place of the test database, as `DATABASE_URL` would set it."""

from collections.abc import Iterator
from contextlib import contextmanager

import environ
import psycopg
from django.contrib.contenttypes.models import ContentType
from django.db import DEFAULT_DB_ALIAS, connection, connections
from django.db.utils import load_backend
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

ENGINE = "kilit.postgres.external"


@contextmanager
def connected_to(url: str) -> Iterator[None]:
    """Let Django use another database, created if missing, during the block."""
    own = connections[DEFAULT_DB_ALIAS]
    own.close()
    create_missing(url)
    given = environ.Env.db_url_config(url)
    options = {**own.settings_dict["OPTIONS"], **given.pop("OPTIONS", {})}
    changed = {**own.settings_dict, **given, "ENGINE": ENGINE, "OPTIONS": options}
    connections[DEFAULT_DB_ALIAS] = load_backend(ENGINE).DatabaseWrapper(changed, DEFAULT_DB_ALIAS)
    ContentType.objects.clear_cache()
    try:
        yield
    finally:
        connection.close()
        connections[DEFAULT_DB_ALIAS] = own
        ContentType.objects.clear_cache()


def create_missing(url: str) -> None:
    name = str(conninfo_to_dict(url)["dbname"])
    with psycopg.connect(make_conninfo(url, dbname="postgres"), autocommit=True) as maintenance:
        if not maintenance.execute("SELECT 1 FROM pg_database WHERE datname = %s", [name]).fetchone():
            maintenance.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
