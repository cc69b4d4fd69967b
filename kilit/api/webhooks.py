"""Kinds of webhooks: which events of a queue are reported, and what a receiver is sent about them.

Each queue declares its kinds (`queue.py`). The outbox makes messages from them, and OpenAPI lists them.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from django.conf import settings
from django.db.models import Model
from typing_extensions import TypedDict

from kilit.lock.models import Event

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

TEST = "test"


class EndpointTestData(TypedDict):
    """Sent when someone tests an endpoint."""

    endpoint_id: str


TEST_EXAMPLE: EndpointTestData = {"endpoint_id": "01936f2e-5a0f-7a1c-8b3e-4f9d8c0a2e55"}


@dataclass(frozen=True)
class Callback:
    """A caller's own address for the result of one job, and the caller."""

    url: str
    user_id: int


@dataclass(frozen=True)
class Described:
    """What is sent about an event: never click ids, hashes, phones or names of people."""

    data: Mapping[str, object]
    scope: str = ""  # endpoints of this site receive it, besides those of the installation
    callbacks: Sequence[Callback] = ()
    for_callbacks_only: bool = False  # endpoints that listen to the kind have received it already


# By the id of the event; an event that is not in it is not reported.
Describe = Callable[[Sequence[Event]], Mapping[int, Described]]


@dataclass(frozen=True)
class WebhookKind:
    name: str  # as in `conversion.completed`
    queue: str
    event_types: tuple[str, ...]
    about: "StrOrPromise"
    data: object  # a TypedDict, for OpenAPI
    example: Mapping[str, object]
    describe: Describe = field(repr=False)
    is_of_sites: bool = False  # its events belong to a site, so endpoints of that site may listen
    has_callbacks: bool = False  # callers may name an address for a job, besides the endpoints that listen


webhook_kinds: dict[str, WebhookKind] = {}


def kinds_beyond(scope: str, kinds: Iterable[str]) -> list[str]:
    """Return the kinds that an endpoint of a scope would never hear of."""
    return [name for name in kinds if scope and name in webhook_kinds and not webhook_kinds[name].is_of_sites]


def console_url(model: type[Model], pk: object) -> str:
    """Return the address of a row's page in the console; workers load no URLs that could be reversed."""
    return f"{settings.PUBLIC_URL}/admin/{model._meta.app_label}/{model._meta.model_name}/{pk}/change/"
