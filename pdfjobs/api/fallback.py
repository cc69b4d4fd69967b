"""Whether anybody can render at this moment, and what is answered when nobody can."""

from django.db import InterfaceError, OperationalError

from kilit.workers.models import Heartbeat

DATABASE_DOWN = (OperationalError, InterfaceError)
RETRY_AFTER = 15  # seconds; a supervisor that lost its cluster has a new one by then
# The page is made of a caller's words and shown under our name: it may show itself, and nothing else.
FALLBACK = {
    "X-Pdf-Fallback": "html",
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; img-src data:; font-src data:; style-src 'unsafe-inline'; sandbox",
}


def workers_live() -> bool:
    """Tell whether a task went all the way through some cluster lately; no process is asked about itself."""
    return Heartbeat.objects.alive().exists()
