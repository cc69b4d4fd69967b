"""Which hosts a caller may name for callbacks: those of its own webhook endpoints. The outbox answers; others ask."""

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from typing import Any

from django.contrib.auth.models import AnonymousUser, User

HostsOf = Callable[[Any], AbstractSet[str]]
_answers: list[HostsOf] = []


def register_callback_hosts(hosts_of: HostsOf) -> None:
    _answers[:] = [hosts_of]


def callback_hosts(user: User | AnonymousUser) -> AbstractSet[str]:
    return _answers[0](user) if _answers else frozenset()
