"""The schema, and a page to read it: for whoever is logged in, or has a key (CON-15)."""

from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView


class ApiSchemaView(SpectacularAPIView):
    """`GET /api/schema/`: YAML, or JSON for who accepts that."""


class ApiPage(SpectacularSwaggerSplitView):
    """`GET /api/docs/`: Swagger UI from our own server, its script at an address of its own for a strict CSP."""

    url_name = "api-schema"
