"""The queue's sweep: claims of runners that are gone."""

from datetime import timedelta

from django.utils.translation import gettext_lazy as _

from kilit.workers import sweeps
from orchestrator.saw import saw_handover


def release_lapsed() -> str:
    """Let jobs go on that a dead runner held."""
    return f"Released {saw_handover.release_lapsed()}."


def register() -> None:
    sweeps.register(
        "orchestrator_release_lapsed",
        every=timedelta(seconds=30),
        run=release_lapsed,
        about=_("Lets cutting jobs go on whose runner is gone."),
    )
