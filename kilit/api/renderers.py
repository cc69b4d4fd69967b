"""A JSON renderer."""

from typing import Any

from rest_framework import renderers


class JSONRenderer(renderers.JSONRenderer):
    """JSON in UTF-8, or with escapes when the text cannot be encoded, such as half a surrogate pair.

    A view that answers thousands of rows may encode them itself; bytes are passed on.
    """

    def render(self, data: object, *args: Any, **options: Any) -> Any:
        if isinstance(data, bytes):
            return data
        try:
            return super().render(data, *args, **options)
        except UnicodeEncodeError:
            self.ensure_ascii = True  # type: ignore[misc]
            return super().render(data, *args, **options)
