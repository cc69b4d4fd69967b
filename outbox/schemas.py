"""Requests and responses of the API of webhooks; tests check every response against them."""

from typing import Annotated, Any, NotRequired, Self
from uuid import UUID

from pydantic import AfterValidator, ConfigDict, Field, WithJsonSchema, model_validator
from typing_extensions import TypedDict

from kilit.api.cursor import Cursor
from kilit.api.input_model import Id, InputModel, Moment, PageLimit, Time, invalid, text
from kilit.api.webhooks import webhook_kinds
from kilit.outgoing.urls import InvalidUrl
from outbox.models.endpoint import LONGEST_URL, OffReason, check_url
from outbox.states import MessageStatus

PREFIX = "msg_"
SITE = "4f1d2c3b5a69788796a5b4c3d2e1f001"
EXAMPLE_URL = "https://shop.example/webhooks/kilit"


def read_url(url: str) -> str:
    try:
        check_url(url)
    except InvalidUrl as error:
        raise invalid(str(error)) from None
    return url


def check_kind(name: str) -> str:
    if name not in webhook_kinds:
        raise invalid(f"Expected one of {', '.join(sorted(webhook_kinds))}.")
    return name


def unique(kinds: list[str]) -> list[str]:
    return list(dict.fromkeys(kinds))


def read_message_id(value: object) -> Any:
    return value.removeprefix(PREFIX) if isinstance(value, str) else value


Url = Annotated[
    str,
    Field(max_length=LONGEST_URL, description="An https URL with a public host.", examples=[EXAMPLE_URL]),
    AfterValidator(read_url),
]
Kind = Annotated[str, Field(max_length=64, examples=["conversion.failed"]), AfterValidator(check_kind)]
Kinds = Annotated[
    list[Kind],
    Field(max_length=50, description="What it listens to; the webhooks of this document. May be empty, for callbacks."),
    AfterValidator(unique),
]
Description = Annotated[str, text(200)]


class NewEndpoint(InputModel):
    url: Url
    kinds: Kinds
    description: Description = ""
    site_id: Annotated[str, text(64)] | None = Field(
        default=None,
        description="The site's public id. Without it: your site if you have one, and for owners the installation.",
    )

    examples = {
        "of a site": {"url": EXAMPLE_URL, "kinds": ["conversion.completed", "conversion.failed"], "site_id": SITE},
        "the shortest": {"url": EXAMPLE_URL, "kinds": []},
    }


class EndpointChanges(InputModel):
    """Only what is given changes."""

    url: Url | None = None
    kinds: Kinds | None = None
    description: Description | None = None

    examples = {"other kinds": {"kinds": ["conversion.failed"]}}


class ReplayRequest(InputModel):
    start: Moment = Field(alias="from", description="From this time on.")
    end: Moment = Field(alias="to", description="Before this time.")
    failed_only: bool = Field(default=False, description="Only messages that failed.")
    resume_after: Annotated[int, Field(ge=0)] | None = Field(
        default=None, description="From the answer to an earlier request, to continue it."
    )

    examples = {"an hour": {"from": "2026-11-16T09:00:00Z", "to": "2026-11-16T10:00:00Z"}}

    @model_validator(mode="after")
    def is_a_span(self) -> Self:
        if self.start >= self.end:
            raise invalid("`from` must be before `to`.")
        return self


class MessagesQuery(InputModel):
    """Other parameters are ignored."""

    model_config = ConfigDict(extra="ignore", strict=False)

    status: Annotated[MessageStatus, WithJsonSchema({"type": "string", "enum": MessageStatus.values})] | None = None
    endpoint: UUID | None = Field(default=None, description="The id of an endpoint.")
    kind: Annotated[str, text(64)] | None = None
    since: Moment | None = Field(default=None, description="Created since then.")
    cursor: Cursor | None = None
    limit: PageLimit = 50


class EndpointShown(TypedDict):
    """An endpoint. Its secret is shown only when it is made; the URL's query only to those who manage it."""

    id: Id
    site_id: Annotated[str, Field(description="Null for endpoints of the installation.")] | None
    url: str
    kinds: list[str]
    description: str
    is_on: bool
    off_reason: Annotated[str, WithJsonSchema({"type": "string", "enum": OffReason.values})] | None
    off_at: Time | None
    failing_since: Time | None
    previous_secret_until: Time | None
    created_at: Time


class EndpointWithSecret(EndpointShown):
    """An endpoint with its secret, which cannot be read again."""

    secret: Annotated[str, Field(pattern="^whsec_")]


class Endpoints(TypedDict):
    """The endpoints that you may see, oldest first."""

    endpoints: list[EndpointShown]


class MessageShown(TypedDict):
    """A message, as in lists."""

    id: Annotated[str, Field(pattern=f"^{PREFIX}[0-9a-f]{{32}}$", description="The header `webhook-id`.")]
    endpoint_id: Id
    kind: str
    status: MessageStatus
    url: str
    attempt_count: int
    next_try_at: Annotated[Time, Field(description="While it waits.")] | None
    response_code: int | None
    error_code: str | None
    error_message: str | None
    created_at: Time
    delivered_at: Time | None


class AttemptShown(TypedDict):
    """One attempt; the signature is not kept."""

    number: int
    started_at: Time
    seconds: float
    request_headers: dict[str, str]
    response_code: int | None
    answer: str
    error_code: str | None
    error_message: str | None


class MessageDetail(MessageShown):
    """A message with the exact text that is sent, and its attempts, oldest first."""

    body: str
    attempts: list[AttemptShown]


class MessagePage(TypedDict):
    """A page of messages, newest first."""

    messages: list[MessageShown]
    next_cursor: NotRequired[str]


class Replayed(TypedDict):
    """How many messages were queued; if `resume_after` is set, send it with the same request to continue."""

    replayed: int
    created: int
    resume_after: int | None
