"""Fields of request bodies."""

from typing import Any
from uuid import UUID

from rest_framework import serializers

from ociqueue.models.conversion import PREFIX


class IdsField(serializers.Field[list[UUID], list[Any], list[str], Any]):
    """A list of `seal_<uuid>` or bare uuids; each bad one is named by its place."""

    def __init__(self, *, most: int, **options: Any) -> None:
        """Take the longest list allowed."""
        super().__init__(**options)
        self.most = most

    def to_internal_value(self, data: Any) -> list[UUID]:
        """Read all ids, or refuse with every fault."""
        if not isinstance(data, list):
            raise serializers.ValidationError("Expected a list of ids.")
        if len(data) > self.most:
            raise serializers.ValidationError(f"At most {self.most} ids.")
        ids: list[UUID] = []
        wrong: dict[str, list[str]] = {}
        for index, text in enumerate(data):
            try:
                ids.append(UUID(text.removeprefix(PREFIX)))
            except (ValueError, AttributeError):
                wrong[str(index)] = [f"Expected {PREFIX}<uuid>."]
        if wrong:
            raise serializers.ValidationError(wrong)
        return ids

    def to_representation(self, value: list[UUID]) -> list[str]:
        """Write ids as the API shows them."""
        return [f"{PREFIX}{pk}" for pk in value]
