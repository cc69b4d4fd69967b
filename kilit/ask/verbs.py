"""A verb is a function that is declared with its title; its docstring and its annotations say the rest.

The caller is a person with a session or a key, and sees its queues and rows.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html import unescape
from typing import Any, TypeVar, cast, get_type_hints

from django.contrib.auth.models import User
from django.http import HttpRequest
from django.utils.html import strip_tags
from pydantic_core import to_jsonable_python
from rest_framework.exceptions import NotFound, PermissionDenied

from kilit.access.authentication import actor_of_key
from kilit.access.key_scopes import KeyScope
from kilit.access.models import ApiKey
from kilit.api.input_model import InputModel
from kilit.batches.queues import Queue, queues
from kilit.console.queue_admin import admin_of
from kilit.lock.audit import name_actor
from kilit.lock.failures import SHORTEST_HIDDEN
from kilit.machine_errors import explain
from kilit.masking import HIDDEN, mask_identifiers

Run = TypeVar("Run", bound=Callable[..., Any])


def masked(text: object, hidden: str = "") -> str:
    """Return a text of people or machines as lists show it: in words, without personal data and what its row hides."""
    words = explain(unescape(strip_tags(str(text))))
    return mask_identifiers(words.replace(hidden, HIDDEN) if len(hidden) >= SHORTEST_HIDDEN else words)


@dataclass(frozen=True)
class Caller:
    request: HttpRequest  # Django's: the pages' own functions read its user
    key: ApiKey | None = None  # a session has none

    @property
    def user(self) -> User:
        return cast("User", self.request.user)

    def has_scope(self, scope: KeyScope) -> bool:
        return self.key is None or scope in self.key.scopes

    def queues(self, name: str | None = None) -> list[Queue]:
        """Return the queues that the caller sees, or the one of this name."""
        named = [queue for each, queue in queues.items() if name in (None, each) and queue.may_see(self.user)]
        if name and not named:
            raise NotFound(f"There is no queue {name} among those that you see.")
        return named

    def may(self, operation: str, queue: Queue) -> bool:
        is_known = any(each.name == operation for each in queue.operations)
        return is_known and self.has_scope(KeyScope.OPERATE) and queue.may_operate(self.user)

    def may_pause(self, queue: Queue) -> bool:
        return bool(queue.paused_title) and queue.may_pause(self.user)

    def find(self, text: str, name: str | None, most: int) -> tuple[list[tuple[Queue, Any]], bool]:
        """Return the newest rows that a text finds, each with its queue, and whether there are more."""
        matches: list[tuple[Queue, Any]] = []
        for queue in self.queues(name):
            rows = admin_of(queue).get_queryset(self.request)
            found = rows.filter(pk__in=queue.search(rows, text).ids).order_by("-pk")
            matches += ((queue, row) for row in found[: most + 1])
        matches.sort(key=lambda match: match[1].pk, reverse=True)
        return matches[:most], len(matches) > most


@dataclass(frozen=True)
class Verb:
    name: str
    title: str
    description: str
    body: type[InputModel]
    output: Any
    run: Callable[[Caller, Any], Any]
    is_for: Callable[[Caller], bool] = lambda _caller: True
    acts: bool = False
    is_destructive: bool = False
    is_idempotent: bool = True  # asked again at once, it changes nothing more

    @property
    def scope(self) -> KeyScope:
        return KeyScope.OPERATE if self.acts else KeyScope.READ

    def answer(self, caller: Caller, body: InputModel) -> dict[str, Any]:
        """Return what the verb answers, as JSON has it; the same at each door."""
        if not self.is_for(caller):
            raise PermissionDenied("The user of this key may not do this.")
        if self.acts and caller.key:
            name_actor(actor_of_key(caller.key, caller.key.name))
        answer: dict[str, Any] = to_jsonable_python(self.run(caller, body))
        return answer


VERBS: dict[str, Verb] = {}


def verb(title: str, **declared: Any) -> Callable[[Run], Run]:
    """Declare a function as a verb, with the fields of `Verb` that differ."""

    def register(run: Run) -> Run:
        name, words, hints = run.__name__, " ".join((run.__doc__ or "").split()), get_type_hints(run)
        VERBS[name] = Verb(name, title, words, hints["body"], hints["return"], run, **declared)
        return run

    return register


def offered(caller: Caller) -> Iterator[Verb]:
    """Return what a caller may use, by the scopes of its key and by what its user may do; what reads comes first."""
    in_order = sorted(VERBS.values(), key=lambda each: each.acts)
    return (each for each in in_order if caller.has_scope(each.scope) and each.is_for(caller))
