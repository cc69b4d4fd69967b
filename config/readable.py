"""Ends a process that cannot run in one readable line instead of a traceback."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from django.core.exceptions import ImproperlyConfigured
from django.db import OperationalError


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Turn bad configuration and an unreachable database into a sentence and exit code 1."""
    try:
        yield
    except ImproperlyConfigured as error:
        sys.exit(f"kilit: {first_line(error)}")
    except OperationalError as error:
        sys.exit(f"kilit: the database does not answer: {first_line(error)} (see DATABASE_URL)")


def first_line(error: Exception) -> str:
    """Return the message without the lines that libpq and Django append to it."""
    return str(error).strip().partition("\n")[0].strip()
