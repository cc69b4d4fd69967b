"""Kinds of addresses, by which requests are counted: a few names, whatever paths clients invent."""

EXACT = {
    "/": "console",
    "/healthz": "health",
    "/readyz": "health",
    "/metrics": "metrics",
    "/jobs": "api_cutting",
    "/customers": "api_cutting",
    "/api/oci/conversions": "api_enqueue",
    "/api/oci/adjustments": "api_enqueue",
    "/api/oci/google-ads-export": "api_script",
    "/api/oci/ack": "api_script",
    "/api/oci/ack-failed": "api_script",
    "/api/oci/upload-summary": "api_script",
    "/api/oci/v2/verify": "api_script",
}
# The first that fits.
PREFIXES = (
    ("/static/", "static"),
    ("/admin/login/", "login"),
    ("/admin/password-reset/", "login"),
    ("/admin/", "console"),
    ("/api/oci/", "api_conversions"),
    ("/api/outbox/", "api_webhooks"),
    ("/api/cron/", "api_cron"),
    ("/api/schema/", "api_docs"),
    ("/api/docs/", "api_docs"),
    ("/pdf/", "api_pdf"),
    ("/jobs/", "api_cutting"),
    ("/customers/", "api_cutting"),
)
OTHER = "other"
KINDS = tuple(sorted({*EXACT.values(), *(kind for _, kind in PREFIXES), OTHER}))


def kind_of(path: str) -> str:
    return EXACT.get(path) or next((kind for prefix, kind in PREFIXES if path.startswith(prefix)), OTHER)
