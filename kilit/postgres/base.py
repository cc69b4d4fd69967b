"""Django's PostgreSQL backend, connected to the private server, which the first connection starts."""

from contextlib import suppress
from typing import Any

import psycopg
from django.conf import settings
from django.db.backends.postgresql import base, client
from psycopg import errors, sql

from kilit.postgres.server import Server


def configured_server() -> Server:
    """Return the server of this installation, running or not."""
    return Server(settings.KILIT_VAR / "postgres")


class DatabaseClient(client.DatabaseClient):
    @classmethod
    def settings_to_cmd_args_env(cls, settings_dict: dict[str, Any], parameters: Any) -> Any:
        """Tell psql where the private server is."""
        address = {name.upper(): value for name, value in configured_server().ensure_running().items()}
        return super().settings_to_cmd_args_env({**settings_dict, **address}, parameters)


class DatabaseWrapper(base.DatabaseWrapper):
    """Connects to the private server and makes the database when it is missing."""

    client_class = DatabaseClient

    def get_connection_params(self) -> dict[str, Any]:
        """Start the server if needed, as often as Django connects, and say where it is."""
        return {**super().get_connection_params(), **configured_server().ensure_running()}

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        """Connect, if need be to a database made for the purpose."""
        try:
            return super().get_new_connection(conn_params)
        except psycopg.OperationalError:
            if not _create_missing_database(conn_params):
                raise
            return super().get_new_connection(conn_params)


def _create_missing_database(conn_params: dict[str, Any]) -> bool:
    address = {key: conn_params[key] for key in ("host", "port", "user")}
    with psycopg.connect(**address, dbname="postgres", autocommit=True) as connection:
        name = conn_params["dbname"]
        if connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [name]).fetchone():
            return False
        # Processes race here; which of the two errors the later one gets depends on how much later it is.
        with suppress(errors.DuplicateDatabase, errors.UniqueViolation):
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    return True
