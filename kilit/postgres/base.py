"""Django's PostgreSQL backend for the embedded server, which the first connection starts."""

from contextlib import suppress
from typing import Any

import psycopg
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import OperationalError
from django.db.backends.postgresql import client
from psycopg import errors, sql

from kilit.postgres.external import base
from kilit.postgres.external.connection import LimitedConnection
from kilit.postgres.server import Server


def configured_server() -> Server:
    return Server(settings.KILIT_VAR / "postgres", is_small=settings.SMALL)


class NotStartedError(ImproperlyConfigured, OperationalError):
    """The embedded server cannot be started now: a command ends with one line, a running service waits for it."""


class DatabaseClient(client.DatabaseClient):
    @classmethod
    def settings_to_cmd_args_env(cls, settings_dict: dict[str, Any], parameters: Any) -> Any:
        address = {name.upper(): value for name, value in configured_server().ensure_running().items()}
        return super().settings_to_cmd_args_env({**settings_dict, **address}, parameters)


class DatabaseWrapper(base.DatabaseWrapper):
    client_class = DatabaseClient

    def get_connection_params(self) -> dict[str, object]:
        # Django calls this for every connection: the server may have been stopped meanwhile.
        try:
            address = configured_server().ensure_running()
        except ImproperlyConfigured as error:
            raise NotStartedError(*error.args) from error
        return {**super().get_connection_params(), **address}

    def get_new_connection(self, conn_params: dict[str, object]) -> object:
        try:
            return super().get_new_connection(conn_params)
        except psycopg.OperationalError as error:
            # libpq gives no SQLSTATE (3D000) for a failed connection. The embedded server's messages are English.
            if not str(error).rstrip().endswith(f'database "{conn_params["dbname"]}" does not exist'):
                raise
        _create_database(conn_params)
        return super().get_new_connection(conn_params)


def _create_database(conn_params: dict[str, Any]) -> None:
    # With the time limits of any other connection: the server may stop answering at any moment.
    statement = sql.SQL("CREATE DATABASE {}").format(sql.Identifier(conn_params["dbname"]))
    with (
        LimitedConnection.connect(**{**conn_params, "dbname": "postgres", "autocommit": True}) as connection,
        # Processes race here; the timing decides which of the two errors the later one gets.
        suppress(errors.DuplicateDatabase, errors.UniqueViolation),
    ):
        connection.execute(statement)
