"""Questions to the database of a run."""

from collections.abc import Callable
from typing import Any

from django.db import connection

Check = Callable[..., list[str]]


def rows(sql: str, *params: Any) -> list[tuple[Any, ...]]:
    """Run a question, with its values in order or as one dictionary."""
    named = params[0] if params and isinstance(params[0], dict) else params
    with connection.cursor() as cursor:
        cursor.execute(sql, named)
        return cursor.fetchall()
