"""The schema, and a page to read it: for whoever is logged in, or has a key (CON-15)."""

from typing import Any

from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView

from config.api.renderers import JSONRenderer


class ApiSchemaView(SpectacularAPIView):
    """`GET /api/schema/`: YAML, or JSON for who accepts that."""

    def handle_exception(self, exc: Exception) -> Any:
        """Refuse in JSON, as every address does."""
        answer = super().handle_exception(exc)
        self.request.accepted_renderer, self.request.accepted_media_type = JSONRenderer(), JSONRenderer.media_type
        return answer


class ApiPage(SpectacularSwaggerSplitView):
    """`GET /api/docs/`: Swagger UI from our own server, its script at an address of its own for a strict CSP."""

    url_name = "api-schema"
