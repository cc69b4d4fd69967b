"""Doors for django-q2: a name in, one verb called."""

from kilit.workers import doorbells, sweeps


def answer(name: str) -> None:
    doorbells.answer(name)


def sweep(name: str) -> None:
    sweeps.run(name)


def beat() -> None:
    """Do nothing: that this came through the whole cluster is the message."""
