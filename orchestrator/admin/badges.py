from django.utils.safestring import SafeString

from kilit.console.formatting import code_badge
from orchestrator.states import JobState

COLOURS = {
    JobState.NEW: "info",
    JobState.PREPARED: "primary",
    JobState.OPTI_IMPORTED: "primary",
    JobState.OPTI_RUNNING: "primary",
    JobState.OPTI_DONE: "primary",
    JobState.XML_READY: "primary",
    JobState.DELIVERED: "success",
    JobState.DONE: "success",
    JobState.HOLD: "warning",
    JobState.FAILED: "danger",
}


def state_badge(status: str) -> SafeString:
    return code_badge(status, COLOURS[JobState(status)])
