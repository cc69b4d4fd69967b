"""Pagination cursors: the id of a page's last row. Ids never change, so pages are stable while rows move."""

import base64
from typing import Annotated, Any
from uuid import UUID

from pydantic import BeforeValidator


def encode_cursor(pk: UUID) -> str:
    return base64.urlsafe_b64encode(pk.bytes).decode().rstrip("=")


def decode_cursor(text: Any) -> UUID:
    """Return the id in a cursor; ValueError if it is not one of ours."""
    try:
        return UUID(bytes=base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except (TypeError, ValueError):
        raise ValueError("This is not a valid cursor.") from None


Cursor = Annotated[UUID, BeforeValidator(decode_cursor, json_schema_input_type=str)]
