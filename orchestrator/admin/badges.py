"""The colours of the states."""

from django.utils.safestring import SafeString

from kilit.console.formatting import code_badge
from orchestrator.states import State

COLOURS = {
    State.NEW: "info",
    State.PREPARED: "primary",
    State.OPTI_IMPORTED: "primary",
    State.OPTI_RUNNING: "primary",
    State.OPTI_DONE: "primary",
    State.XML_READY: "primary",
    State.DELIVERED: "success",
    State.DONE: "success",
    State.HOLD: "warning",
    State.FAILED: "danger",
}


def state_badge(status: str) -> SafeString:
    """Return a state as all pages show it."""
    return code_badge(status, COLOURS[State(status)])
