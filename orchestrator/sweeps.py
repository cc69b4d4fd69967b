"""The queue's sweep: claims of runners that are gone."""

from datetime import timedelta

from django.utils.translation import gettext_lazy as _

from lifecycle.workers import sweeps
from orchestrator import handing


def release_lapsed() -> str:
    """Let jobs go on that a dead runner held (ORC-20)."""
    return f"Released {handing.release_lapsed()}."


def register() -> None:
    """Declare when it runs by itself."""
    sweeps.register(
        "orchestrator_release_lapsed",
        every=timedelta(seconds=30),
        run=release_lapsed,
        about=_("Lets cutting jobs go on whose runner is gone."),
    )
