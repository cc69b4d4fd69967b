"""Settings of Django REST framework and drf-spectacular; docs/api.md says who may read the schema."""

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "kilit.access.authentication.KeyAuthentication",
        "kilit.access.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": [
        "rest_framework.permissions.IsAuthenticated",
        "kilit.access.authentication.KeyScopePermission",
    ],
    "DEFAULT_THROTTLE_CLASSES": ["kilit.access.authentication.KeyThrottle"],
    "DEFAULT_PARSER_CLASSES": ["kilit.api.parsers.JSONParser"],
    "DEFAULT_RENDERER_CLASSES": ["kilit.api.renderers.JSONRenderer"],
    "DEFAULT_SCHEMA_CLASS": "kilit.api.schema.ApiSchema",
    "URL_FORMAT_OVERRIDE": None,  # an endpoint may have a parameter `format` of its own
    "EXCEPTION_HANDLER": "kilit.api.exceptions.exception_response",
}

SPECTACULAR_SETTINGS: dict[str, object] = {
    "TITLE": "Kilit",
    "VERSION": "1",
    "DESCRIPTION": (
        'Guarded job queues. All errors have the same shape, `{"error": {"code", "message", …}}`; unsupported '
        "methods get a 405 with `Allow`. Times are ISO 8601 with an offset."
    ),
    "OAS_VERSION": "3.1.0",
    "TAGS": [
        {"name": "Ask", "description": "What operators ask and do, for command lines; assistants have it at /mcp."},
        {"name": "Clocks", "description": "Scheduled tasks, for callers with their own scheduler."},
        {"name": "Probes", "description": "Health checks and metrics."},
    ],
    "POSTPROCESSING_HOOKS": [
        "kilit.api.schema.add_tags",
        "kilit.api.schema.add_webhooks",
        "kilit.api.schema.add_probes",
    ],
    "SCHEMA_PATH_PREFIX": "/",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_PERMISSIONS": ["rest_framework.permissions.IsAuthenticated"],
    "SORT_OPERATION_PARAMETERS": False,
    "DISABLE_DOCSTRING_DESCRIPTIONS": True,
    "ENABLE_DJANGO_DEPLOY_CHECK": False,  # a test compares the schema instead
    # Served locally, so that it works without internet access.
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "SWAGGER_UI_SETTINGS": {"deepLinking": False, "docExpansion": "list", "defaultModelsExpandDepth": 0},
}
