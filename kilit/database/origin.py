"""Which version made the tables of a database or a backup, and whether this one can use them.

`migrate` writes its version into the comment of django_migrations. Dumps keep it, and every version can read it,
whatever its migrations are called. Before 0.2.0, the first release, migrations were renamed and merged. Tables of an
earlier version cannot be upgraded, also those whose migrations have the names of today's.
"""

from contextlib import suppress
from dataclasses import dataclass

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.loader import MigrationLoader
from django.utils.version import get_version_tuple
from psycopg import sql

from kilit import __version__

PREFIX = "Kilit "
FIRST_RELEASE = (0, 2, 0)


class UnusableTables(Exception):
    """The tables are of no use to this version; the message names both versions and what to do."""


class NewerVersion(UnusableTables):
    pass


class UnreleasedVersion(UnusableTables):
    pass


@dataclass(frozen=True)
class SchemaOrigin:
    version: str  # empty if it was made before versions were recorded
    migrations: frozenset[tuple[str, str]]  # the applied ones, as (app, name)

    @property
    def is_newer(self) -> bool:
        return get_version_tuple(self.version) > get_version_tuple(__version__)

    @property
    def is_unreleased(self) -> bool:
        return bool(self.migrations and self.version) and get_version_tuple(self.version) < FIRST_RELEASE

    def verify(self, subject: str = "database") -> None:
        """Raise unless the tables are those of this version, or `migrate` can make them so."""
        culprit = find_foreign_migration(self.migrations)
        if culprit is None and not self.is_unreleased:
            return
        if self.is_newer:
            raise NewerVersion(
                f"This {subject} is from a newer version, Kilit {self.version}, and this is Kilit {__version__}: "
                f"install Kilit {self.version}."
            )
        maker = f"Kilit {self.version}" if self.version else "a Kilit that recorded no version"
        trace = f", with the migration {'.'.join(culprit)}" if culprit else ""
        raise UnreleasedVersion(
            f"This {subject} was made by {maker} (unreleased{trace}), and this is "
            f"Kilit {__version__}, which cannot upgrade it: start with an empty database (another DATABASE_URL or "
            "KILIT_VAR), or export and import what you need, as docs/deployment.md says under "
            '"From an unreleased version".'
        )


def find_foreign_migration(applied: frozenset[tuple[str, str]]) -> tuple[str, str] | None:
    """Return an applied migration that this code does not have, or that it would apply only after a missing one."""
    loader = MigrationLoader(None)
    replaced = {key: set(migration.replaces) for key, migration in loader.disk_migrations.items()}
    migrations = set(replaced).union(*replaced.values())
    # Other apps were removed, or belong to another part of Kilit: the runner has few.
    unknown = [key for key in applied if key[0] in loader.migrated_apps and key not in migrations]
    if unknown:
        return max(unknown)
    present = applied | {key for key, names in replaced.items() if names and names <= applied}
    nodes = loader.graph.node_map
    torn = (
        key for key in sorted(applied) if key in nodes and any(node.key not in present for node in nodes[key].parents)
    )
    return next(torn, None)


def read_origin(connection: BaseDatabaseWrapper) -> SchemaOrigin:
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_regclass('django_migrations')::oid")
        (table,) = cursor.fetchone()
        if table is None:
            return SchemaOrigin("", frozenset())
        cursor.execute("SELECT obj_description(%s, 'pg_class')", [table])
        (comment,) = cursor.fetchone()
        cursor.execute("SELECT app, name FROM django_migrations")
        applied = frozenset(cursor.fetchall())
    version = comment.removeprefix(PREFIX) if comment and comment.startswith(PREFIX) else ""
    return SchemaOrigin(version, applied)


def refuse_unreleased(connection: BaseDatabaseWrapper) -> None:
    """For processes that run: tables of a newer version serve them during an upgrade, and on the way back from one."""
    with suppress(NewerVersion):
        read_origin(connection).verify()


def record_version(connection: BaseDatabaseWrapper) -> None:
    """Note that this version made the tables; one that is newer stays."""
    origin = read_origin(connection)
    if origin.version == __version__ or origin.is_newer:
        return
    with connection.cursor() as cursor:
        statement = sql.SQL("COMMENT ON TABLE django_migrations IS {}")
        cursor.execute(statement.format(sql.Literal(f"{PREFIX}{__version__}")))
