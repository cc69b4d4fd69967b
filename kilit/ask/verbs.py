"""A verb is a function that is declared with its title; its docstring and its annotations say the rest."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar, get_type_hints

from pydantic import TypeAdapter
from pydantic_core import to_jsonable_python
from rest_framework.exceptions import PermissionDenied

from kilit.access.authentication import actor_of_key
from kilit.access.key_scopes import KeyScope
from kilit.api.input_model import InputModel
from kilit.api.openapi import without_titles
from kilit.ask.caller import Caller
from kilit.lock.audit import name_actor

Run = TypeVar("Run", bound=Callable[..., Any])


@dataclass(frozen=True, kw_only=True)
class Verb:
    name: str
    title: str
    about: str
    body: type[InputModel]
    output: Any
    run: Callable[[Caller, Any], Any]
    is_for: Callable[[Caller], bool]
    acts: bool
    is_destructive: bool
    is_idempotent: bool  # asked again at once, it changes nothing more

    @property
    def scope(self) -> KeyScope:
        return KeyScope.OPERATE if self.acts else KeyScope.READ

    @property
    def schemas(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return what is taken and what is returned, as JSON schemas."""
        output = TypeAdapter(self.output).json_schema(mode="serialization")
        return without_titles(self.body.model_json_schema()), without_titles(output)

    def answer(self, caller: Caller, data: object) -> dict[str, Any]:
        """Return what the verb answers, as JSON has it; the same at each door."""
        if not self.is_for(caller):
            raise PermissionDenied("The user of this key may not do this.")
        if self.acts and caller.key:
            name_actor(actor_of_key(caller.key, caller.key.name))
        answer: dict[str, Any] = to_jsonable_python(self.run(caller, self.body.read(data)))
        return answer


VERBS: dict[str, Verb] = {}


def verb(
    title: str,
    *,
    acts: bool = False,
    is_for: Callable[[Caller], bool] = lambda _caller: True,
    is_destructive: bool = False,
    is_idempotent: bool = True,
) -> Callable[[Run], Run]:
    def register(run: Run) -> Run:
        hints, about = get_type_hints(run), " ".join((run.__doc__ or "").split())
        VERBS[run.__name__] = Verb(
            name=run.__name__,
            title=title,
            about=about,
            body=hints["body"],
            output=hints["return"],
            run=run,
            is_for=is_for,
            acts=acts,
            is_destructive=is_destructive,
            is_idempotent=is_idempotent,
        )
        return run

    return register


def offered(caller: Caller) -> Iterator[Verb]:
    """Return what a caller may use, by the scopes of its key and by what its user may do; what reads comes first."""
    in_order = sorted(VERBS.values(), key=lambda each: each.acts)
    return (each for each in in_order if caller.has_scope(each.scope) and each.is_for(caller))
