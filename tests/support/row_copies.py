"""Rows that tests of one file begin with: made once, and copied back for each of them in a fraction of the time."""

from django.db import connection, transaction

# Made by migrations, so a flush between tests must leave them.
KEPT = {"auth_group", "auth_permission", "auth_group_permissions", "django_content_type"}

TABLES = """
    SELECT relname FROM pg_class
    WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND relname <> ALL(%s)
"""


def copy_rows() -> dict[str, bytes]:
    """Return the rows of each table that has any, but for what is always there."""
    rows: dict[str, bytes] = {}
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(TABLES, [[*KEPT, "django_migrations"]])
        for (table,) in cursor.fetchall():
            with cursor.copy(f'COPY "{table}" TO STDOUT') as copy:
                rows[table] = b"".join(copy)
    return {table: content for table, content in rows.items() if content}


def put_back(rows: dict[str, bytes]) -> None:
    """Write them past the guards, which saw them come the first time; the sequences are beyond them already."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        for table, content in rows.items():
            with cursor.copy(f'COPY "{table}" FROM STDIN') as copy:
                copy.write(content)


def empty_tables() -> None:
    """Delete what earlier rows have left, past the guards; it asks only tables that have ever had a row."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"{TABLES} AND pg_relation_size(oid) > 0", [[*KEPT, "django_migrations"]])
        deletes = [f'DELETE FROM "{table}"' for (table,) in cursor.fetchall()]
        cursor.execute("; ".join(["SET LOCAL session_replication_role = replica", *deletes]))
