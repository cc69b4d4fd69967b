"""The addresses that a caller may name for callbacks: scheme, host and port of its own webhook endpoints.

The outbox answers; others ask.
"""

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from typing import Any

from django.contrib.auth.models import AnonymousUser, User

OriginsOf = Callable[[Any], AbstractSet[str]]
_answers: list[OriginsOf] = []


def register_callback_origins(origins_of: OriginsOf) -> None:
    _answers[:] = [origins_of]


def callback_origins(user: User | AnonymousUser) -> AbstractSet[str]:
    return _answers[0](user) if _answers else frozenset()
