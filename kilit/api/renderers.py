"""Writes JSON answers."""

from collections.abc import Mapping
from typing import Any

from rest_framework import renderers


class JSONRenderer(renderers.JSONRenderer):
    """JSON in UTF-8; what UTF-8 cannot hold, as when an answer quotes half a surrogate pair, is escaped instead."""

    def render(
        self, data: Any, accepted_media_type: str | None = None, renderer_context: Mapping[str, Any] | None = None
    ) -> Any:
        try:
            return super().render(data, accepted_media_type, renderer_context)
        except UnicodeEncodeError:
            return EscapingRenderer().render(data, accepted_media_type, renderer_context)


class EscapingRenderer(renderers.JSONRenderer):
    ensure_ascii = True
