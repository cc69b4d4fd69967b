"""The schema, and a page to read it: for whoever is logged in, or has a key."""

from threading import Lock
from typing import Any

from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView

from kilit.api.renderers import JSONRenderer

# drf-spectacular keeps what it is making in objects that all threads of a process share.
ONE_AT_A_TIME = Lock()


class ApiSchemaView(SpectacularAPIView):
    """`GET /api/schema/`: YAML, or JSON for who accepts that."""

    def _get_schema_response(self, request: Any) -> Any:
        with ONE_AT_A_TIME:
            return super()._get_schema_response(request)  # type: ignore[no-untyped-call]

    def handle_exception(self, exc: Exception) -> Any:
        """Refuse in JSON, as every address does."""
        answer = super().handle_exception(exc)
        self.request.accepted_renderer, self.request.accepted_media_type = JSONRenderer(), JSONRenderer.media_type
        return answer


class ApiPage(SpectacularSwaggerSplitView):
    """`GET /api/docs/`: Swagger UI from our own server, its script at an address of its own for a strict CSP."""

    url_name = "api-schema"
