"""Ends a process that cannot run in one readable line instead of a traceback."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from django.core.exceptions import ImproperlyConfigured
from django.db import OperationalError

# Classes of SQLSTATE: connection, authorization, no such database, shutting down or starting.
UNREACHABLE = ("08", "28", "3D", "57P")


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Turn bad configuration and an unreachable database into a sentence and exit code 1."""
    try:
        yield
    except ImproperlyConfigured as error:
        sys.exit(f"kilit: {first_line(error)}")
    except OperationalError as error:
        if not says_unreachable(error):
            raise
        sys.exit(f"kilit: the database does not answer: {first_line(error)} (see DATABASE_URL)")


def says_unreachable(error: OperationalError) -> bool:
    """Tell a database that cannot be reached or entered from one that answered with an error."""
    state = getattr(error.__cause__, "sqlstate", None)
    return state is None or state.startswith(UNREACHABLE)


def first_line(error: Exception) -> str:
    """Return the message without the lines that libpq and Django append to it."""
    return str(error).strip().partition("\n")[0].strip()
