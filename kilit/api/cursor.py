"""Pagination cursors: the id of a page's last row. Ids never change, so pages are stable while rows move."""

import base64
from collections.abc import Callable, Sequence
from typing import Annotated, Any, TypeVar
from uuid import UUID

from django.db import models
from pydantic import BeforeValidator

Row = TypeVar("Row", bound=models.Model)


def cut_page(found: Sequence[Row], limit: int) -> tuple[Sequence[Row], str | None]:
    """Return a page of rows, and the cursor of the next page if there is one: then one row more was found."""
    page = found[:limit]
    return page, encode_cursor(page[-1].pk) if len(found) > limit else None


def page_body(name: str, rows: Sequence[Row], limit: int, present: Callable[[Row], object]) -> dict[str, object]:
    """Return a page as the API has it: the rows under their name, and the cursor of the next page if there is one."""
    shown, following = cut_page(rows, limit)
    return {name: [present(row) for row in shown], **({"next_cursor": following} if following else {})}


def encode_cursor(pk: UUID | int) -> str:
    of_bytes = pk if isinstance(pk, UUID) else UUID(int=pk)
    return base64.urlsafe_b64encode(of_bytes.bytes).decode().rstrip("=")


def decode_cursor(text: Any) -> UUID:
    """Return the id in a cursor; ValueError if it is not one of ours."""
    try:
        return UUID(bytes=base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except (TypeError, ValueError):
        raise ValueError("This is not a valid cursor.") from None


Cursor = Annotated[UUID, BeforeValidator(decode_cursor, json_schema_input_type=str)]
