"""State badges."""

from django.utils.safestring import SafeString

from kilit.console.formatting import code_badge
from ociqueue.states import ConversionStatus

COLOURS = {
    ConversionStatus.QUEUED: "info",
    ConversionStatus.RETRY: "warning",
    ConversionStatus.PROCESSING: "primary",
    ConversionStatus.COMPLETED: "success",
    ConversionStatus.FAILED: "danger",
}


def state_badge(status: str) -> SafeString:
    return code_badge(status, COLOURS[ConversionStatus(status)])
