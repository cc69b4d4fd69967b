"""One readable line instead of a traceback for a process that cannot start."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from django.core.exceptions import ImproperlyConfigured
from django.db import OperationalError, ProgrammingError
from psycopg.errors import UndefinedTable

from kilit.database.origin import UnusableTables
from kilit.lock.outages import CommitUnknown, ReadOnlyDatabase, is_outage


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Exit with one line and code 1 on invalid configuration, or a database that cannot be reached, written or used."""
    try:
        yield
    except (ImproperlyConfigured, UnusableTables) as error:
        sys.exit(f"kilit: {first_line(error)}")
    except ProgrammingError as error:
        if not isinstance(error.__cause__, UndefinedTable):
            raise
        sys.exit(f"kilit: {first_line(error)}: run manage.py migrate, or is KILIT_VAR or DATABASE_URL another one?")
    except ReadOnlyDatabase:
        sys.exit("kilit: the database is read-only, so this cannot be stored (see DATABASE_URL)")
    except CommitUnknown as error:
        sys.exit(f"kilit: the connection was lost, and it is not known whether this was stored: {first_line(error)}")
    except OperationalError as error:
        if not is_outage(error):
            raise
        sys.exit(f"kilit: the database is not reachable: {first_line(error)} (see DATABASE_URL)")


def first_line(error: Exception) -> str:
    """Drop the lines that libpq and Django append."""
    return str(error).strip().partition("\n")[0].strip()
