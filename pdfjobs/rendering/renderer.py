"""The render thread of this process: it owns Playwright, whose loop must not meet the ORM (PDF-6, PDF-7)."""

from datetime import datetime, timedelta

from pdfjobs.rendering.options import PageOptions


def render(html: str, options: PageOptions, *, made_at: datetime, hard_timeout: timedelta) -> bytes:
    """Return the PDF, or raise RenderFault."""
    raise NotImplementedError


def close() -> None:
    """Stop the browser of this process."""
    raise NotImplementedError
