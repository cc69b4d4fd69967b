"""Settings of Django REST framework and of the schema made of its views; docs/api.md tells who may read that."""

from typing import Any

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "kilit.access.authentication.KeyAuthentication",
        "kilit.access.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_THROTTLE_CLASSES": ["kilit.access.throttle.KeyThrottle"],
    "DEFAULT_PARSER_CLASSES": ["kilit.api.parsers.JSONParser"],
    "DEFAULT_RENDERER_CLASSES": ["kilit.api.renderers.JSONRenderer"],
    "DEFAULT_SCHEMA_CLASS": "kilit.api.schema.ApiSchema",
    "EXCEPTION_HANDLER": "kilit.api.errors.answer",
}

SPECTACULAR_SETTINGS: dict[str, Any] = {
    "TITLE": "Kilit",
    "VERSION": "1",
    "DESCRIPTION": (
        'Three guarded job queues. Every refusal has one shape, `{"error": {"code", "message", …}}`; a method that '
        "an address does not know is answered with 405 and `Allow`. Times are ISO 8601 with an offset."
    ),
    "OAS_VERSION": "3.1.0",
    "TAGS": [
        {"name": "Conversions", "description": "Offline conversions: bringing them, and handing them to a script."},
        {"name": "Operators of conversions", "description": "For people in the console; membership of a site decides."},
        {"name": "PDF", "description": "Documents made of templates."},
        {"name": "Cutting jobs", "description": "Orders on their way to the saw; viewers read, operators act."},
        {"name": "Clocks", "description": "Sweeps, for whoever keeps a clock of their own."},
        {"name": "Probes", "description": "For whoever watches the service."},
    ],
    "POSTPROCESSING_HOOKS": ["kilit.api.schema.add_the_rest"],
    "SCHEMA_PATH_PREFIX": "/",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_PERMISSIONS": ["rest_framework.permissions.IsAuthenticated"],
    "SORT_OPERATION_PARAMETERS": False,
    "DISABLE_DOCSTRING_DESCRIPTIONS": True,
    "ENABLE_DJANGO_DEPLOY_CHECK": False,  # a test looks at every change instead
    # From our own server: the console works where there is no internet.
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "SWAGGER_UI_SETTINGS": {"deepLinking": False, "docExpansion": "list", "defaultModelsExpandDepth": 0},
}
