"""The audit context: who acts and why. Set per thread of work, and passed to the database for the recorder's events."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import partial

from django.db import connection, connections
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from kilit.lock.text import storable
from kilit.trace import current_trace

PEOPLE = ("operator", "admin", "viewer", "user")  # the name follows the role
# What does something without a person, by the first part of the actor's name.
MACHINES = {
    "sweep": _("the scheduled task %(name)s"),
    "command": _("the command %(name)s"),
    "worker": _("a worker"),
    "runner": _("the runner on %(name)s"),
    "key": _("the API key of %(name)s"),
}


@dataclass(frozen=True)
class AuditContext:
    """An actor such as `operator:ayse`, and the reason given; without an actor, events name the database role."""

    actor: str = ""
    reason: str = ""


_context: ContextVar[AuditContext] = ContextVar("audit_context", default=AuditContext())  # noqa: B039 - it is frozen


def current_context() -> AuditContext:
    return _context.get()


@contextmanager
def acting_as(actor: str, *, reason: str = "") -> Iterator[None]:
    """Name the actor and the reason of every move made inside the block."""
    token = _context.set(AuditContext(actor, reason))
    try:
        yield
    finally:
        _context.reset(token)


@contextmanager
def for_reason(reason: str) -> Iterator[None]:
    """Give a reason for every move made inside the block; the actor stays."""
    with acting_as(current_context().actor, reason=reason):
        yield


def name_actor(actor: str) -> None:
    """Name the actor for the rest of the current block; authentication happens inside the request's block."""
    _context.set(replace(current_context(), actor=actor))


def person_of(actor: str) -> str:
    """Return the user name in an actor such as `operator:ayse`; machines have no name."""
    role, _colon, name = actor.partition(":")
    return name if role in PEOPLE else ""


def actor_in_words(actor: str, machines: Mapping[str, object] = MACHINES) -> str:
    if person := person_of(actor):
        return person
    kind, _colon, names = actor.partition(":")
    name, _colon, key = names.partition(":")
    if kind == "key" and key:  # a program that acts for a person
        return gettext("the API key %(key)s of %(name)s") % {"key": key, "name": name}
    words = machines.get(kind) or MACHINES.get(kind)
    return str(words) % {"name": name} if words else actor


def person_in_sql(actor: str) -> str:
    """Return the same as an SQL expression, for triggers."""
    return f"CASE WHEN {actor} ~ '^({'|'.join(PEOPLE)}):' THEN substr({actor}, strpos({actor}, ':') + 1) ELSE '' END"


@contextmanager
def transaction_setting(name: str) -> Iterator[None]:
    """Set a setting that triggers read, inside the block. Needs a transaction."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config(%s, 'on', true)", [name])
        yield
        # After an error the transaction is rolled back, and the setting with it.
        cursor.execute("SELECT set_config(%s, '', true)", [name])


# Leaves moves out of the activity: they belong to something that is recorded itself.
without_activity = partial(transaction_setting, "kilit.without_activity")


SET_CONTEXT = (
    "SELECT set_config('kilit.actor', %s, true), set_config('kilit.reason', %s, true),"
    " set_config('kilit.verb', %s, true), set_config('kilit.trace', %s, true)"
)


def set_audit_context(*, verb: str, using: str) -> None:
    """Pass actor, reason, verb and the caller's trace to the recorder for the rest of this transaction.

    The verb is for the next statement only: the recorder clears it, so that a later UPDATE in the same transaction is
    not recorded under it.
    """
    with connections[using].cursor() as cursor:
        cursor.execute(SET_CONTEXT, context_values(verb))


def context_values(verb: str) -> list[str]:
    context, trace = current_context(), current_trace()
    values = [storable(value) for value in (context.actor, context.reason, verb)]
    return [*values, str(trace) if trace and trace.is_callers else ""]
