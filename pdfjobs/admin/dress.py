"""The colours of the states."""

from django.utils.safestring import SafeString

from kilit.console.formatting import code_badge
from pdfjobs.states import Status

COLOURS = {
    Status.QUEUED: "info",
    Status.RUNNING: "primary",
    Status.SUCCEEDED: "success",
    Status.FAILED: "danger",
    Status.EXPIRED: "",
}


def state_badge(status: str) -> SafeString:
    """Return a state as all pages show it."""
    return code_badge(status, COLOURS[Status(status)])
