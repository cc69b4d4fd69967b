"""One readable line instead of a traceback for a process that cannot start."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from django.core.exceptions import ImproperlyConfigured
from django.db import OperationalError

from kilit.database.origin import UnusableTables
from kilit.lock.outages import CommitUnknown, ReadOnlyDatabase

# Classes of SQLSTATE: connection, authorization, no such database, shutting down or starting.
UNREACHABLE = ("08", "28", "3D", "57P")


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Exit with one line and code 1 on invalid configuration, or a database that cannot be reached, written or used."""
    try:
        yield
    except (ImproperlyConfigured, UnusableTables) as error:
        sys.exit(f"kilit: {first_line(error)}")
    except ReadOnlyDatabase:
        sys.exit("kilit: the database is read-only, so this cannot be stored (see DATABASE_URL)")
    except CommitUnknown as error:
        sys.exit(f"kilit: the connection was lost, and it is not known whether this was stored: {first_line(error)}")
    except OperationalError as error:
        if not is_unreachable(error):
            raise
        sys.exit(f"kilit: the database is not reachable: {first_line(error)} (see DATABASE_URL)")


def is_unreachable(error: OperationalError) -> bool:
    """True for connection and login errors, false for errors of statements."""
    state = getattr(error.__cause__, "sqlstate", None)
    return state is None or state.startswith(UNREACHABLE)


def first_line(error: Exception) -> str:
    """Drop the lines that libpq and Django append."""
    return str(error).strip().partition("\n")[0].strip()
