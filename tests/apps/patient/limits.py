"""The limits that are raised."""

from pdfjobs.rendering import chromium, renderer
from tests.support.waiting import PATIENCE


def be_patient() -> None:
    """Let browsers take longer to start and to close."""
    chromium.LAUNCH_LIMIT = renderer.LAUNCH_LIMIT = renderer.CLOSE_LIMIT = PATIENCE / 3
