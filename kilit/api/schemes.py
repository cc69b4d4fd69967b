"""Authentication schemes for OpenAPI."""

from typing import Any

from django.conf import settings
from drf_spectacular.extensions import OpenApiAuthenticationExtension

KEY = {"type": "apiKey", "in": "header", "name": "x-api-key", "description": "A key issued in the console."}
BEARER = {"type": "http", "scheme": "bearer", "description": "The same key as `Authorization: Bearer`."}
TOKEN = {"type": "http", "scheme": "bearer", "description": "A token of `POST /api/oci/v2/verify`, for one site."}
CRON = {"type": "http", "scheme": "bearer", "description": "The value of `KILIT_CRON_SECRET`."}
METRICS = {"type": "http", "scheme": "bearer", "description": "The value of `KILIT_METRICS_TOKEN`, if it is set."}
SESSION = (
    "The session of a user logged in to the console; requests that change something also need the header "
    "`X-CSRFToken` with the value of the CSRF cookie."
)

# For endpoints that check the secret themselves, without a DRF authentication class.
OTHER_SCHEMES = {"cronSecret": CRON, "metricsToken": METRICS}


class KeyScheme(OpenApiAuthenticationExtension):
    target_class = "kilit.access.authentication.KeyAuthentication"
    name = ["key", "bearerKey"]

    def get_security_requirement(self, auto_schema: Any) -> list[dict[str, list[Any]]]:
        return [{name: []} for name in self.name]  # alternatives: either is enough

    def get_security_definition(self, auto_schema: Any) -> list[dict[str, Any]]:
        return [KEY, BEARER]


class SessionTokenScheme(OpenApiAuthenticationExtension):
    target_class = "ociqueue.api.authentication.SessionTokenAuthentication"
    name = "sessionToken"

    def get_security_requirement(self, auto_schema: Any) -> list[dict[str, list[Any]]]:
        return [{name: []} for name in (*KeyScheme.name, self.name)]

    def get_security_definition(self, auto_schema: Any) -> dict[str, Any]:
        return TOKEN


class SessionScheme(OpenApiAuthenticationExtension):
    target_class = "kilit.access.authentication.SessionAuthentication"
    name = "session"

    def get_security_definition(self, auto_schema: Any) -> dict[str, Any]:
        return {"type": "apiKey", "in": "cookie", "name": settings.SESSION_COOKIE_NAME, "description": SESSION}
