"""Who is acting, and why: kept per thread of work, and handed to the database for its witness."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from django.db import connections


@dataclass(frozen=True)
class Acting:
    """An actor such as `operator:ayse`, and the reason given; empty means the database role acts."""

    actor: str = ""
    reason: str = ""


NOBODY = Acting()
_acting: ContextVar[Acting] = ContextVar("acting", default=NOBODY)


def acting() -> Acting:
    return _acting.get()


@contextmanager
def acting_as(actor: str, *, reason: str = "") -> Iterator[Acting]:
    """Name the actor and the reason for every move made inside the block."""
    token = _acting.set(Acting(actor=actor, reason=reason))
    try:
        yield _acting.get()
    finally:
        _acting.reset(token)


def name_actor(actor: str) -> None:
    """Name the actor for the rest of the current block; authentication learns it only inside the request."""
    _acting.set(Acting(actor=actor, reason=acting().reason))


def set_audit_context(*, verb: str, using: str) -> None:
    """Hand actor, reason and verb to the recorder, for the rest of this transaction.

    The verb is for the next statement alone: the recorder clears it, so that a later UPDATE in the same transaction
    is not told as this one.
    """
    now = acting()
    words = [strip_control_chars(word) for word in (now.actor, now.reason, verb)]
    with connections[using].cursor() as cursor:
        cursor.execute(
            "SELECT set_config('kilit.actor', %s, true), set_config('kilit.reason', %s, true),"
            " set_config('kilit.verb', %s, true)",
            words,
        )


def strip_control_chars(text: str) -> str:
    """Drop what PostgreSQL cannot store, so that no wording of a reason can stop a move."""
    return text.replace("\x00", "").encode("utf-8", "replace").decode()
