"""Fields of request bodies."""

import json
from typing import Any
from uuid import UUID

from rest_framework import serializers

from kilit.lock.text import strip_control_chars
from ociqueue.models.conversion import PREFIX


class IdsField(serializers.Field[list[UUID], list[Any], list[str], Any]):
    """A list of `seal_<uuid>` or bare uuids; each invalid one is reported by its index."""

    def __init__(self, *, most: int, **options: Any) -> None:
        super().__init__(**options)
        self.most = most

    def to_internal_value(self, data: Any) -> list[UUID]:
        if not isinstance(data, list):
            raise serializers.ValidationError("Expected a list of ids.")
        if len(data) > self.most:
            raise serializers.ValidationError(f"At most {self.most} ids.")
        ids: list[UUID] = []
        errors: dict[str, list[str]] = {}
        for index, text in enumerate(data):
            try:
                ids.append(UUID(text.removeprefix(PREFIX)))
            except (ValueError, AttributeError):
                errors[str(index)] = [f"Expected {PREFIX}<uuid>."]
        if errors:
            raise serializers.ValidationError(errors)
        return ids


class MessageField(serializers.Field[str, Any, str, Any]):
    """An error message: cleaned rather than rejected, because a rejection would lose the report of every row."""

    def to_internal_value(self, data: Any) -> str:
        return strip_control_chars(data if isinstance(data, str) else json.dumps(data, ensure_ascii=False))


class AnyField(serializers.Field[Any, Any, Any, Any]):
    """Any JSON; the caller validates it."""

    def to_internal_value(self, data: Any) -> Any:
        return data
