"""The ways to log in, as OpenAPI tells them."""

from typing import Any

from django.conf import settings
from drf_spectacular.extensions import OpenApiAuthenticationExtension

KEY = {"type": "apiKey", "in": "header", "name": "x-api-key", "description": "A key issued in the console."}
BEARER = {"type": "http", "scheme": "bearer", "description": "The same key as `Authorization: Bearer`."}
TOKEN = {"type": "http", "scheme": "bearer", "description": "A token of `POST /api/oci/v2/verify`, for one site."}
CRON = {"type": "http", "scheme": "bearer", "description": "The secret of `KILIT_CRON_SECRET`."}
METRICS = {"type": "http", "scheme": "bearer", "description": "The token of `KILIT_METRICS_TOKEN`, when one is set."}
SESSION = (
    "The session of somebody logged in to the console; a request that changes something also needs the header "
    "`X-CSRFToken` with the value of the CSRF cookie."
)

# Of endpoints that look at the secret themselves.
OTHERS = {"cronSecret": CRON, "metricsToken": METRICS}


class KeyScheme(OpenApiAuthenticationExtension):
    """A key, in either header."""

    target_class = "kilit.access.authentication.KeyAuthentication"
    name = ["key", "bearerKey"]

    def get_security_requirement(self, auto_schema: Any) -> list[dict[str, list[Any]]]:
        """Say that one of them is enough."""
        return [{name: []} for name in self.name]

    def get_security_definition(self, auto_schema: Any) -> list[dict[str, Any]]:
        return [KEY, BEARER]


class SessionTokenScheme(OpenApiAuthenticationExtension):
    """What a key was traded for, or a key."""

    target_class = "ociqueue.api.authentication.SessionTokenAuthentication"
    name = "sessionToken"

    def get_security_requirement(self, auto_schema: Any) -> list[dict[str, list[Any]]]:
        """Say that one of them is enough."""
        return [{name: []} for name in (*KeyScheme.name, self.name)]

    def get_security_definition(self, auto_schema: Any) -> dict[str, Any]:
        return TOKEN


class SessionScheme(OpenApiAuthenticationExtension):
    """A person in the console."""

    target_class = "kilit.access.authentication.SessionAuthentication"
    name = "session"

    def get_security_definition(self, auto_schema: Any) -> dict[str, Any]:
        return {"type": "apiKey", "in": "cookie", "name": settings.SESSION_COOKIE_NAME, "description": SESSION}
