"""Keys of sites, for a key with the scope `admin`: what is asked for, and what is answered."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field
from typing_extensions import TypedDict

from kilit.access.key_scopes import DEFAULT_SCOPES, KeyScope
from kilit.api.cursor import Cursor
from kilit.api.input_model import ONLY_DIGITS, InputModel, Moment, Time, line
from ociqueue.schemas.agency import DRY_RUN, KNOWN_AS, MOST_LISTED
from ociqueue.schemas.requests import SITE, ScriptMessage
from ociqueue.schemas.responses import PublicId

MOST_KEYS = 100
LARGEST_ID = 2**63 - 1
SiteScope = Literal["enqueue", "script", "read", "operate"]
KeyId = Annotated[int, Field(ge=1, le=LARGEST_ID)]


def in_order(scopes: list[str]) -> list[str]:
    """Return scopes in the order in which they are listed everywhere, each once."""
    return [scope for scope in DEFAULT_SCOPES if scope in scopes]


class KeyToIssue(InputModel):
    """A key of one site."""

    site: Annotated[str, line(64), Field(description=KNOWN_AS)]
    name: Annotated[str, line(100), Field(description="What uses the key.")]
    scopes: Annotated[list[SiteScope], Field(min_length=1, max_length=10), AfterValidator(in_order)]
    expiresAt: Annotated[Moment, Field(description="If it is absent, the key does not expire.")] | None = None


class KeysRequest(InputModel):
    """Keys to issue: all of them, or none if one is invalid."""

    keys: Annotated[list[KeyToIssue], Field(min_length=1, max_length=MOST_KEYS)]
    dryRun: Annotated[bool, DRY_RUN] = False

    examples = {"a shop's key": {"keys": [{"site": SITE, "name": "shop", "scopes": ["enqueue"]}]}}


class KeysNamed(InputModel):
    """Keys, by their ids."""

    keys: Annotated[list[KeyId], Field(min_length=1, max_length=MOST_KEYS)]
    dryRun: Annotated[bool, DRY_RUN] = False

    examples = {"one key": {"keys": [7]}}


class KeysQuery(ScriptMessage):
    site: Annotated[str, line(64), Field(description=KNOWN_AS)] | None = None
    state: Literal["valid", "ended", "all"] = "valid"
    limit: Annotated[int, Field(ge=1, le=MOST_LISTED), ONLY_DIGITS] = 200
    cursor: Cursor | None = None


class ManagedKey(TypedDict):
    """A site's key, without its text."""

    id: int
    site: PublicId
    name: str
    scopes: list[KeyScope]
    hint: Annotated[str, Field(description="The last four characters of its text.")]
    isValid: bool
    createdAt: Time
    expiresAt: Time | None
    usedAt: Time | None
    revokedAt: Time | None


class ManagedKeys(TypedDict):
    """The keys of the sites that the key's user administers, the oldest first."""

    keys: list[ManagedKey]
    nextCursor: str | None


class KeyIssued(TypedDict):
    """What became of one key."""

    index: int
    status: Annotated[
        Literal["created", "unchanged"],
        Field(description="`unchanged`: the site has a valid key of this name, with the same scopes and end."),
    ]
    id: Annotated[int | None, Field(description="Null in a dry run, of a key that is not there yet.")]
    site: PublicId
    name: str
    key: Annotated[str | None, Field(description="The text of a new key. It is not stored, and never answered again.")]


class KeysIssued(TypedDict):
    """What was issued, or would be; the results are in the order of the request."""

    dryRun: bool
    created: int
    unchanged: int
    results: list[KeyIssued]


class KeyRevoked(TypedDict):
    """What became of one key; one that was revoked before is unchanged."""

    index: int
    status: Literal["changed", "unchanged"]
    id: int
    site: PublicId
    name: str


class KeysRevoked(TypedDict):
    """What was revoked, or would be; the results are in the order of the request."""

    dryRun: bool
    changed: int
    unchanged: int
    results: list[KeyRevoked]
