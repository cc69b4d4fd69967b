"""Doors for django-q2: a name in, one verb called."""

from lifecycle.workers import bells, sweeps


def answer(name: str) -> None:
    """Answer a doorbell."""
    bells.answer(name)


def sweep(name: str) -> None:
    """Run a sweep."""
    sweeps.run(name)


def beat() -> None:
    """Do nothing: that this came through the whole cluster is the message."""
