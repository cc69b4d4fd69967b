"""The lifecycles of a conversion, of an adjustment to one, of a site's circuit, and of an import of a file."""

from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum

from django.db.models import TextChoices
from django.utils.translation import gettext_lazy as _

from kilit.batches.states import BULK_ACTIONS, batch_moves
from kilit.lock.table import ALWAYS, Answer, By, Claim, Lifecycle, move, report


class ConversionStatus(TextChoices):
    # Waiting to be claimed for the first time, or queued again by an operator.
    QUEUED = "QUEUED"
    # Waiting for another attempt, from `next_retry_at` on when that is set.
    RETRY = "RETRY"
    # Claimed by the site's script or by an upload; the result is not known yet.
    PROCESSING = "PROCESSING"
    # Google has it and has not given its verdict yet; only on the Data Manager API.
    UPLOADED = "UPLOADED"
    # Uploaded: confirmed by Google on the API paths, reported by the script on the script path. Final.
    COMPLETED = "COMPLETED"
    # Not uploaded. It is not retried automatically, except TRANSIENT failures on sites that ask for it.
    FAILED = "FAILED"


class Category(TextChoices):
    # The row's data is wrong; another attempt would fail too.
    VALIDATION = "VALIDATION"
    # A temporary fault; another attempt may succeed.
    TRANSIENT = "TRANSIENT"
    # The account or its credentials were rejected.
    AUTH = "AUTH"
    # Google asked for fewer requests.
    RATE_LIMIT = "RATE_LIMIT"
    # Failed permanently: by an operator, by the attempt cap, or skipped by the script.
    PERMANENT = "PERMANENT"


class SyncMethod(TextChoices):
    """Who uploads a site's conversions: exactly one sender."""

    SCRIPT = "script", "Google Ads Script"
    API = "api", "Google Ads API"
    DATA_MANAGER = "datamanager", "Data Manager API"


class DeniedConsent(TextChoices):
    """What a site does with conversions whose visitors do not let Google use their data for ads."""

    # They end here.
    WITHHOLD = "WITHHOLD", _("Do not send them")
    # They are sent with the consent that was given; Google decides what it does with them.
    SEND = "SEND", _("Send them, marked as denied")


class EventSource(TextChoices):
    """Where a conversion happened; the Data Manager API refuses an event that does not say."""

    WEB = "WEB", _("Website")
    APP = "APP", _("App")
    IN_STORE = "IN_STORE", _("Shop")
    PHONE = "PHONE", _("Phone call")
    MESSAGE = "MESSAGE", _("Message")
    OTHER = "OTHER", _("Elsewhere")


class Disposition(StrEnum):
    """What becomes of a row, given what its provider replied."""

    ACCEPTED = "ACCEPTED"  # the provider has it
    RECEIVED = "RECEIVED"  # the provider took it and gives its verdict later
    FATAL = "FATAL"  # fails now
    RETRY = "RETRY"  # retried after a backoff, or after the provider's delay
    DEFER = "DEFER"  # too early: retried hours later
    DUPLICATE = "DUPLICATE"  # the provider has it already: success only if an earlier reply was lost
    SPLIT = "SPLIT"  # the request was too large: sent again in halves
    GATE = "GATE"  # a fault of the account: the row keeps its attempt and the site's circuit opens
    GATE_ACTION = "GATE_ACTION"  # the same, for one conversion name only
    GATE_ALL = "GATE_ALL"  # the same, for every site
    UNSENT = "UNSENT"  # not part of the request: the row keeps its attempt


class AdjustmentKind(TextChoices):
    # The conversion did not happen after all.
    RETRACTION = "RETRACTION", _("Retraction")
    # It has another value.
    RESTATEMENT = "RESTATEMENT", _("Restatement")


class ImportState(TextChoices):
    # Uploaded; workers read all lines, to be certain of the encoding and of how amounts are written.
    READING = "READING"
    # Workers check line by line what would become of it. Nothing is stored.
    CHECKING = "CHECKING"
    # Checked; waiting for the operator to confirm.
    READY = "READY"
    # Confirmed; workers store the lines batch by batch.
    RUNNING = "RUNNING"
    # Every line was stored or rejected.
    DONE = "DONE"
    # The file cannot be read with certainty, or is not one of conversions; nothing was stored.
    REFUSED = "REFUSED"
    # Stopped by an operator, or never confirmed; lines that were stored stay.
    CANCELLED = "CANCELLED"
    # It could not go on; `error` says why, and lines that were stored stay.
    FAILED = "FAILED"


class CircuitStatus(TextChoices):
    # Conversions are sent.
    CLOSED = "CLOSED"
    # Conversions wait, except for one probe from time to time.
    OPEN = "OPEN"


WAITING = (ConversionStatus.QUEUED, ConversionStatus.RETRY)
LIVE = (*WAITING, ConversionStatus.PROCESSING)
# Rows in these may belong to an upload.
IN_UPLOAD = (ConversionStatus.PROCESSING, ConversionStatus.UPLOADED)
# The senders whose rows our own uploader sends.
UPLOADED_HERE = (SyncMethod.API, SyncMethod.DATA_MANAGER)
BY_API = "by-api"  # either, in the address of the list of sites
# A row in one of these that has an error belongs to an error group.
FAILING = (ConversionStatus.FAILED, ConversionStatus.RETRY)
# Old rows in these may be pruned.
ENDED = (ConversionStatus.COMPLETED, ConversionStatus.FAILED)

MANUAL_FAIL = "MANUAL_FAIL"
BY_HAND = {"mark_failed": MANUAL_FAIL}
KINDS: Mapping[str, tuple[ConversionStatus, ...]] = {
    "waiting": WAITING,
    "held": IN_UPLOAD,
    "done": (ConversionStatus.COMPLETED,),
    "failed": (ConversionStatus.FAILED,),
}

NOT_TAKEN = (Answer.NO, Answer.NONE)
FRESH = {"spent": False}  # all attempts again

# What an upload and the people who watch it do, to conversions and adjustments alike.
UPLOAD_MOVES = {
    # A script or an upload takes due rows; each claim counts one attempt.
    "claim": move(
        *WAITING,
        to=ConversionStatus.PROCESSING,
        by=By.HOLDER,
        claim=Claim.TAKES,
        sends=ALWAYS,
        counts=True,
        when=(FRESH,),
    ),
    # The holder reports success.
    "ack": report(ConversionStatus.PROCESSING, to=ConversionStatus.COMPLETED, after=Answer.YES),
    # The holder reports a failure.
    "ack_failed": report(ConversionStatus.PROCESSING, to=ConversionStatus.FAILED, after=NOT_TAKEN),
    # Google took the row and gives its verdict later.
    "receive": report(ConversionStatus.PROCESSING, to=ConversionStatus.UPLOADED, after=Answer.LATER),
    # Google's verdict: it has the row.
    "confirm": move(ConversionStatus.UPLOADED, to=ConversionStatus.COMPLETED, by=By.PROVIDER, after=Answer.YES),
    # Google's verdict: it rejects the row.
    "reject": move(ConversionStatus.UPLOADED, to=ConversionStatus.FAILED, by=By.PROVIDER, after=Answer.NO),
    # The uploader schedules another attempt, after an answer or after a verdict.
    "defer": report(*IN_UPLOAD, to=ConversionStatus.RETRY, by={By.HOLDER, By.PROVIDER}, after=NOT_TAKEN),
    # The verdict cannot be known any more, so the row is sent again.
    "lose": move(ConversionStatus.UPLOADED, to=ConversionStatus.RETRY, by=By.SWEEP, after=Answer.NONE),
    # The sweep takes rows back from a holder that never reported.
    "recover": move(ConversionStatus.PROCESSING, to=ConversionStatus.RETRY, by=By.SWEEP, after=Answer.NONE),
    # The sweep fails rows that used up their attempts.
    "cap": move(*LIVE, to=ConversionStatus.FAILED, by=By.SWEEP, after=Answer.NONE, when=({"spent": True},)),
    # An operator queues rows again with a fresh budget of attempts.
    "retry_selected": move(
        ConversionStatus.FAILED, ConversionStatus.RETRY, to=ConversionStatus.QUEUED, by=By.OPERATOR, sets=FRESH
    ),
    # An operator takes a retry back, before anything has claimed the row.
    "undo_retry": move(ConversionStatus.QUEUED, to=ConversionStatus.FAILED, by=By.OPERATOR),
    # An operator queues rows again whatever their state, unless COMPLETED.
    "reset_to_queued": move(
        *(*LIVE, ConversionStatus.UPLOADED, ConversionStatus.FAILED),
        to=ConversionStatus.QUEUED,
        by=By.OPERATOR,
        after=Answer.NONE,
        sets=FRESH,
    ),
    # An operator fails rows permanently.
    "mark_failed": move(
        *LIVE, ConversionStatus.UPLOADED, to=ConversionStatus.FAILED, by=By.OPERATOR, after=Answer.NONE
    ),
    # The sweep retries TRANSIENT failures on sites that ask for it.
    "requeue_transient": move(ConversionStatus.FAILED, to=ConversionStatus.RETRY, by=By.SWEEP, when=(FRESH,)),
}

LABELS = {
    ConversionStatus.RETRY: _("Waiting to retry"),
    ConversionStatus.PROCESSING: _("Being sent"),
    ConversionStatus.UPLOADED: _("Waiting for Google"),
    ConversionStatus.COMPLETED: _("Sent"),
}

CONVERSIONS = Lifecycle(
    "conversion",
    states=ConversionStatus,
    initial=[ConversionStatus.QUEUED],
    **KINDS,
    by_hand=BY_HAND,
    labels=LABELS,
    known_by="order id",
    moves={
        **UPLOAD_MOVES,
        "claim": replace(
            UPLOAD_MOVES["claim"],
            when=({"spent": False, "retracted": False}, {"spent": False, "unknown": True}),
        ),
        # It is retracted while it waits and Google cannot have it; by the sweep, if no retraction is left to end it.
        "retract": move(
            *WAITING,
            to=ConversionStatus.FAILED,
            by={By.ROW, By.SWEEP},
            when=({"retracted": True, "unknown": False},),
            beside={"adjustments": ENDED},
        ),
        # The visitor denied consent, and the site does not send such conversions; at once, where people correct one.
        "withhold": move(*WAITING, to=ConversionStatus.FAILED, by={By.SWEEP, By.OPERATOR}, when=({"denied": True},)),
        # It waited until Google would not take it any more.
        "expire": move(*WAITING, to=ConversionStatus.FAILED, by=By.SWEEP, when=({"old": True},)),
    },
)

# An adjustment is sent only when its conversion is COMPLETED.
ADJUSTMENTS = Lifecycle(
    "adjustment",
    states=ConversionStatus,
    initial=[ConversionStatus.QUEUED],
    **KINDS,
    by_hand=BY_HAND,
    labels=LABELS,
    known_by="order id and time",
    moves={
        **UPLOAD_MOVES,
        "claim": replace(UPLOAD_MOVES["claim"], beside={"original": (ConversionStatus.COMPLETED,)}),
        # A newer adjustment of the same conversion takes its place.
        "overtake": move(*WAITING, to=ConversionStatus.FAILED, by=By.ROW, when=({"overtaken": True},)),
        # The conversion failed, so there is nothing to adjust.
        "lose_original": move(
            *WAITING,
            to=ConversionStatus.FAILED,
            by=By.ROW,
            sets={"orphaned": True},
            beside={"original": (ConversionStatus.FAILED,)},
        ),
        # The conversion was retried and is COMPLETED now, so there is something to adjust after all.
        "revive": move(
            ConversionStatus.FAILED,
            to=ConversionStatus.QUEUED,
            by=By.ROW,
            when=({"orphaned": True},),
            sets={**FRESH, "orphaned": False},
            beside={"original": (ConversionStatus.COMPLETED,)},
        ),
        # The conversion was retracted before it was sent, so nothing has to be sent.
        "finish_unsent": move(*WAITING, to=ConversionStatus.COMPLETED, by=By.ROW, joint={"original": "retract"}),
    },
)

# A circuit breaker: while it is OPEN nothing is sent except one probe from time to time.
CIRCUITS = Lifecycle(
    "circuit",
    states=CircuitStatus,
    initial=[CircuitStatus.CLOSED],
    labels={CircuitStatus.OPEN: _("Sending is stopped"), CircuitStatus.CLOSED: _("Sending works")},
    moves={
        # Google rejected the account, or cannot be reached.
        "trip": move(CircuitStatus.CLOSED, to=CircuitStatus.OPEN, by=By.HOLDER),
        # A probe got through.
        "close": move(CircuitStatus.OPEN, to=CircuitStatus.CLOSED, by={By.HOLDER, By.OPERATOR}),
    },
)

IMPORTS = Lifecycle(
    "conversion_import",
    states=ImportState,
    initial=[ImportState.READING],
    labels={
        **BULK_ACTIONS.labels,
        ImportState.READING: _("Being read"),
        ImportState.CHECKING: _("Being checked"),
        ImportState.REFUSED: _("Refused"),
    },
    moves={
        "check": move(ImportState.READING, to=ImportState.CHECKING, by=By.HOLDER, claim=Claim.NEEDS),
        **batch_moves(ImportState.READING, ImportState.CHECKING),
        # A command needs neither a check nor a confirmation.
        "start": move(ImportState.CHECKING, ImportState.READY, to=ImportState.RUNNING, by={By.HOLDER, By.OPERATOR}),
        "refuse": report(ImportState.READING, ImportState.CHECKING, to=ImportState.REFUSED),
    },
)
