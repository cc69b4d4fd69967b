"""The OpenAPI schema and Swagger UI, for logged-in users and API keys."""

from threading import Lock
from typing import Any

from django.http import HttpRequest
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView

from kilit.api.renderers import JSONRenderer

# drf-spectacular builds the schema in objects that all threads share.
ONE_AT_A_TIME = Lock()


class ApiSchemaView(SpectacularAPIView):
    """`GET /api/schema/`: YAML, or JSON if the client accepts it."""

    def _get_schema_response(self, request: HttpRequest) -> object:
        with ONE_AT_A_TIME:
            return super()._get_schema_response(request)  # type: ignore[no-untyped-call]

    def handle_exception(self, exc: Exception) -> Any:
        """Respond to errors in JSON, as everywhere else."""
        response = super().handle_exception(exc)
        self.request.accepted_renderer, self.request.accepted_media_type = JSONRenderer(), JSONRenderer.media_type
        return response


class ApiPage(SpectacularSwaggerSplitView):
    """`GET /api/docs/`: Swagger UI, served locally, with its script in a separate file for a strict CSP."""

    url_name = "api-schema"
