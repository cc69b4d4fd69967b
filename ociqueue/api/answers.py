"""What the conversion queue's API answers, as types; tests hold every answer against them."""

from typing import Annotated, Literal, NotRequired, TypedDict

from kilit.api.openapi import SchemaKeywords, Time
from ociqueue.acknowledge import NOT_FOUND
from ociqueue.enqueue import FieldError
from ociqueue.export import Item
from ociqueue.models.conversion import PREFIX
from ociqueue.states import Category, Status

Ok = Annotated[bool, SchemaKeywords({"const": True})]
Id = Annotated[str, SchemaKeywords({"pattern": f"^{PREFIX}[0-9a-f-]{{36}}$", "description": "The id of a conversion."})]
PublicId = Annotated[str, SchemaKeywords({"description": "The site's public id.", "pattern": "^[0-9a-f]{32}$"})]


class ConversionResult(TypedDict):
    """What became of one conversion of the request; `defaulted` says what was filled in for it."""

    index: int
    status: Literal["created", "duplicate", "invalid"]
    id: NotRequired[Id]
    errors: NotRequired[list[FieldError]]
    defaulted: NotRequired[dict[str, str]]


class Enqueued(TypedDict):
    """What became of a request, conversion by conversion."""

    ok: Ok
    created: int
    duplicates: int
    invalid: int
    results: list[ConversionResult]


class PreviewCounts(TypedDict):
    """How many rows a claim could take, and how many wait for something."""

    queued: int
    skipped: int


class Preview(TypedDict):
    """What a claim would hand out; nothing was written."""

    siteId: PublicId
    items: list[Item]
    counts: PreviewCounts
    warnings: list[str]


class LeftAlone(TypedDict):
    """A row that was not moved, and the state it is in; rows of other sites are told apart from none."""

    id: Id
    status: Annotated[str, SchemaKeywords({"enum": [*Status.values, NOT_FOUND]})]


class Acknowledged(TypedDict):
    """How many rows moved, and which did not."""

    ok: Ok
    updated: int
    ignored: list[LeftAlone]


class Acted(TypedDict):
    """How many rows moved, and which did not."""

    ok: Ok
    affected: int
    skipped: list[LeftAlone]


class Session(TypedDict):
    """A token that stands for the key, for one site and a while."""

    session_token: str
    expires_at: Time


class Totals(TypedDict):
    QUEUED: int
    RETRY: int
    PROCESSING: int
    COMPLETED: int
    FAILED: int


class OpenCircuit(TypedDict):
    """Why a site's uploads stopped, and when one is tried again."""

    code: str
    reason: str
    openedAt: Time | None
    nextProbeAt: Time | None


class SiteStats(TypedDict):
    """How one site is doing."""

    siteId: PublicId
    totals: Totals
    stuckProcessing: int
    lastUpdatedAt: Time | None
    errorRate: float | None
    alarming: bool
    lastExportAt: Time | None
    lastAckAt: Time | None
    scriptIsSilent: bool
    needsCredentials: bool
    circuit: OpenCircuit | None


class SummedStats(TypedDict):
    """How all the user's sites are doing together, and each."""

    siteId: None
    totals: Totals
    stuckProcessing: int
    lastUpdatedAt: Time | None
    sites: list[SiteStats]


class ConversionRow(TypedDict):
    """A conversion as operators see it, without its click id."""

    id: Id
    status: Status
    conversionName: str
    orderId: str
    conversionValue: float
    conversionCurrency: str
    attemptCount: int
    attemptsForgiven: int
    lastError: str | None
    providerErrorCode: str | None
    providerErrorCategory: Category | None
    providerRequestId: str | None
    outcomeUnknown: bool
    conversionTime: Time
    createdAt: Time
    updatedAt: Time
    claimedAt: Time | None
    nextRetryAt: Time | None
    uploadedAt: Time | None


class ConversionRows(TypedDict):
    """A page, newest first; without `nextCursor` it is the last."""

    siteId: PublicId
    rows: list[ConversionRow]
    nextCursor: NotRequired[str]


class CronResult(TypedDict):
    """What was done, in words."""

    ok: Ok
    result: str
