"""Senders and Google logins of sites, for a key with the scope `admin`: what is asked for, and what is answered."""

import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, PlainValidator
from typing_extensions import TypedDict

from kilit.api.input_model import Expected, InputModel, Time, invalid, line
from kilit.sites.schemas.operations import SITE, PublicId, SitesNamed
from ociqueue.models.credentials import LONGEST as LONGEST_SERVICE_ACCOUNT
from ociqueue.models.credentials import normalize_customer_id
from ociqueue.schemas.requests import SiteId
from ociqueue.states import SyncMethod

LONGEST_SECRET = 2_000
MOST_ACTIONS = 500


def read_customer(text: str) -> str:
    try:
        return normalize_customer_id(text)
    except ValueError as error:
        raise invalid(str(error)) from None


def read_service_account(value: object) -> str:
    """Return the JSON of a service account's key, sent as it is or as a text."""
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    if not isinstance(value, str | Mapping) or not text.strip() or len(text) > LONGEST_SERVICE_ACCOUNT:
        raise invalid("Expected the JSON of the service account's key, as Google created it.")
    return text


Customer = Annotated[str, line(20), AfterValidator(read_customer)]
Action = Annotated[str, line(200), Field(description="Its number, or customers/1234567890/conversionActions/NUMBER.")]
Secret = Annotated[
    str,
    Field(min_length=1, max_length=LONGEST_SECRET, pattern="^[!-~]+$"),
    Expected(f"up to {LONGEST_SECRET:,} printable ASCII characters, without spaces"),
]


class LoginRequest(InputModel):
    """Parts of a site's Google login. What is absent or null stays as it is; no answer repeats a value."""

    siteId: SiteId
    customerId: Annotated[Customer, Field(description="Of the Google Ads account.")] | None = None
    loginCustomerId: Annotated[Customer, Field(description="Of the manager account, if there is one.")] | None = None
    clientId: Annotated[str, line(500)] | None = None
    clientSecret: Secret | None = None
    refreshToken: Secret | None = None
    serviceAccount: (
        Annotated[str, PlainValidator(read_service_account, json_schema_input_type=dict[str, Any] | str)] | None
    ) = Field(None, description="Instead of an OAuth client: the JSON of a service account's key.")
    developerToken: Secret | None = None
    conversionAction: Action | None = None
    conversionActions: (
        Annotated[
            dict[Annotated[str, line(100)], Action],
            Field(min_length=1, max_length=MOST_ACTIONS, description="Actions by conversion name; they replace all."),
        ]
        | None
    ) = None
    remove: Annotated[
        list[Literal["loginCustomerId", "developerToken", "conversionActions"]], Field(max_length=10)
    ] = []
    confirmMove: Annotated[
        bool, Field(description="Store another account although Google may have rows of the one that is stored.")
    ] = False

    examples = {
        "an OAuth client": {
            "siteId": SITE,
            "customerId": "123-456-7890",
            "clientId": "client",
            "clientSecret": "secret",
            "refreshToken": "token",
            "conversionAction": "987654",
        }
    }


class LoginFinding(TypedDict):
    """A step of the test: what was looked at, and what came out."""

    what: str
    message: str
    passed: bool


class LoginTest(TypedDict):
    """The last test. A worker runs it, so it takes seconds, or waits until a worker runs."""

    status: Literal["none", "waiting", "passed", "failed"]
    requestedAt: Time | None
    checkedAt: Time | None
    findings: list[LoginFinding]


class LoginShown(TypedDict):
    """Which parts of a login are stored, without their values."""

    siteId: PublicId
    kind: Literal["oauth", "serviceAccount"] | None
    parts: list[str]
    serviceAccountEmail: Annotated[str, Field(description="To be given access to the Google Ads account.")]
    error: Annotated[str, Field(description="Why what is stored cannot be read, if so.")]
    changedAt: Time | None
    test: LoginTest
    workerIsRunning: bool


class LoginStored(LoginShown):
    """Which parts of the login are stored now, without their values."""

    status: Annotated[Literal["changed", "unchanged"], Field(description="`unchanged`: all of it was stored before.")]


class SenderRequest(SitesNamed):
    """Sites, by their public ids, and their new sender."""

    sender: SyncMethod = Field(strict=False)
    confirmOpenRows: Annotated[
        bool, Field(description="Change it although rows are being sent, or have an unknown outcome.")
    ] = False

    examples = {"one site": {"sites": [SITE], "sender": "datamanager"}}


class OpenRows(TypedDict):
    """Rows that the account may have, and whose result is open."""

    processing: int
    uploaded: int
    unknownWaiting: int
    unknownFailed: int


class SenderChanged(TypedDict):
    """What became of one site."""

    index: int
    status: Literal["changed", "unchanged"]
    publicId: PublicId
    name: str
    before: SyncMethod
    after: SyncMethod
    openRows: OpenRows


class SendersChanged(TypedDict):
    """What was changed, or would be; the results are in the order of the request."""

    dryRun: bool
    changed: int
    unchanged: int
    results: list[SenderChanged]
