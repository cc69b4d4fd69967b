"""What /metrics exports, and numbers of the web as a web process stores them."""

from kilit.web.counter import BUCKET, REFUSED, REQUESTS, Series
from kilit.web.models import WebCounter

# The labels of the metrics that alerts name.
EXPORTED = {
    "up": {"job"},
    "kilit_rows": {"queue", "state"},
    "kilit_moves_total": {"queue", "state"},
    "kilit_expected_failures_total": {"queue"},
    "kilit_verdicts_open": set(),
    "kilit_verdict_oldest_seconds": set(),
    "kilit_outbox_endpoints": {"condition"},
    "kilit_oldest_waiting_seconds": {"queue"},
    "kilit_cutting_wait_seconds": {"party"},
    "kilit_cutting_wait_limit_seconds": {"party"},
    "kilit_cutting_held_share": set(),
    "kilit_outbox_reader_lag_seconds": set(),
    "kilit_heartbeat_age_seconds": {"supervisor"},
    "kilit_runner_age_seconds": {"runner"},
    "kilit_sweep_age_seconds": {"sweep"},
    "kilit_sweep_succeeded": {"sweep"},
    "kilit_oldest_transaction_seconds": set(),
    "kilit_web_requests_total": {"kind", "method", "code"},
    "kilit_web_request_seconds_bucket": {"kind", "le"},
    "kilit_web_request_seconds_count": {"kind"},
    "kilit_web_refused_total": {"reason"},
    "kilit_web_threads": set(),
    "kilit_web_busy_threads": set(),
    "ptf_admin_pdf_jobs_total": {"status"},
    "ptf_admin_pdf_queue_depth": set(),
}


def serve(requests: int, *, errors: int = 0, slow: int = 0, refused: int = 0, kind: str = "console") -> None:
    """Say how many requests a web process has served, and how they ended."""
    counts = {
        Series(REQUESTS, (kind, "read", "2xx")): requests - errors - refused,
        Series(REQUESTS, (kind, "read", "4xx")): refused,
        Series(REQUESTS, (kind, "read", "5xx")): errors,
        Series(BUCKET, (kind, "2")): requests - slow,
        Series(BUCKET, (kind, "6")): slow,  # from three to ten seconds
        Series(REFUSED, ("forbidden",)): refused,
    }
    WebCounter.objects.add("web:1", counts)
