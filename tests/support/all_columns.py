"""Searches every column of every table for texts that must not be there.

A backup is a dump of these tables, so what is not found here is in no backup either.
"""

import base64
import json
import re
from collections.abc import Collection, Iterator
from typing import Any

from django.contrib.sessions.models import Session
from django.db import connection

TABLES = """
    SELECT format('%I.%I', n.nspname, c.relname), array_agg(quote_ident(a.attname)),
      array_agg(a.atttypid = 'bytea'::regtype)
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
    WHERE c.relkind IN ('r', 'p') AND n.nspname NOT IN ('pg_catalog', 'information_schema')
      AND a.attnum > 0 AND NOT a.attisdropped
    GROUP BY 1 ORDER BY 1
"""
LEAST_OF_BASE64 = 8  # characters; fewer are found by chance


def columns_with(*texts: str) -> list[str]:
    """Return the columns, as `public.table.column`, in which one of the texts stands, in any case or encoding."""
    patterns = [f"%{_escape(form)}%" for text in texts for form in _forms(text)]
    with connection.cursor() as cursor:
        cursor.execute(TABLES)
        tables = cursor.fetchall()
        found = [
            name
            for table, names, are_bytes in tables
            for name in _columns_of(cursor, table, names, are_bytes, patterns)
        ]
    return found + [f"session {session.pk}" for session in Session.objects.all() if _is_in_session(session, texts)]


def _columns_of(cursor: Any, table: str, names: list[str], are_bytes: list[bool], patterns: list[str]) -> Iterator[str]:
    read = [
        f"encode({name}, 'escape')" if is_bytes else f"{name}::text"
        for name, is_bytes in zip(names, are_bytes, strict=True)
    ]
    tests = ", ".join(f"coalesce(bool_or(lower({text}) LIKE ANY(%(patterns)s)), false)" for text in read)
    cursor.execute(f"SELECT {tests} FROM {table}", {"patterns": patterns})
    (answers,) = cursor.fetchall()
    return (f"{table}.{name}" for name, is_found in zip(names, answers, strict=True) if is_found)


def _forms(text: str) -> Collection[str]:
    """Return a text as it is, as JSON and as base64, wherever it begins in what was encoded."""
    forms = {text, json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1]}
    for before in range(3):
        # Without the characters that also depend on what is before or after.
        encoded = base64.b64encode(b"\x00" * before + text.encode()).decode()
        inner = encoded.rstrip("=")[(4 if before else 0) : -1]
        forms |= {inner, inner.replace("+", "-").replace("/", "_")} if len(inner) >= LEAST_OF_BASE64 else set()
    return {form.lower() for form in forms}


def _escape(text: str) -> str:
    return re.sub(r"([\\%_])", r"\\\1", text)


def _is_in_session(session: Session, texts: Collection[str]) -> bool:
    stored = json.dumps(session.get_decoded(), ensure_ascii=False).lower()
    return any(form in stored for text in texts for form in _forms(text))
