"""A JSON renderer."""

from typing import Any

from rest_framework import renderers


class JSONRenderer(renderers.JSONRenderer):
    """JSON in UTF-8, or with escapes when the text cannot be encoded, such as half a surrogate pair."""

    def render(self, *args: Any, **options: Any) -> Any:
        try:
            return super().render(*args, **options)
        except UnicodeEncodeError:
            self.ensure_ascii = True  # type: ignore[misc]
            return super().render(*args, **options)
