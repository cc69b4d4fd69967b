"""The test database as a standby or an old primary has it: read-only for every new connection."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection


@contextmanager
def read_only_database() -> Iterator[None]:
    alter_database("SET default_transaction_read_only = on")
    try:
        yield
    finally:
        alter_database("RESET default_transaction_read_only")


def alter_database(change: str) -> None:
    """Change how new connections begin, and close this thread's."""
    name = connection.ops.quote_name(str(connection.settings_dict["NAME"]))
    with connection.cursor() as cursor:
        cursor.execute("SET default_transaction_read_only = off")  # for this statement, whatever the database says
        cursor.execute(f"ALTER DATABASE {name} {change}")
    connection.close()
