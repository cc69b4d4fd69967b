"""A JSON renderer."""

from collections.abc import Mapping
from typing import Any

from rest_framework import renderers


class JSONRenderer(renderers.JSONRenderer):
    """JSON in UTF-8, or with escapes when the text cannot be encoded, such as half a surrogate pair."""

    def render(
        self, data: Any, accepted_media_type: str | None = None, renderer_context: Mapping[str, Any] | None = None
    ) -> Any:
        try:
            return super().render(data, accepted_media_type, renderer_context)
        except UnicodeEncodeError:
            return EscapingRenderer().render(data, accepted_media_type, renderer_context)


class EscapingRenderer(renderers.JSONRenderer):
    ensure_ascii = True
