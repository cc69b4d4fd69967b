"""The colours of the states."""

from django.utils.safestring import SafeString

from kilit.console.formatting import code_badge
from ociqueue.states import Status

COLOURS = {
    Status.QUEUED: "info",
    Status.RETRY: "warning",
    Status.PROCESSING: "primary",
    Status.COMPLETED: "success",
    Status.FAILED: "danger",
}


def state_badge(status: str) -> SafeString:
    """Return a state as all pages show it."""
    return code_badge(status, COLOURS[Status(status)])
