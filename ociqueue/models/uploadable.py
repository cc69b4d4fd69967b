"""What conversions and adjustments have in common: rows that are claimed, sent to Google and answered for."""

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from django.db import models
from django.db.models import CheckConstraint, F, Index, Q
from django.utils.translation import gettext_lazy as _

from kilit.batches.error_entries import ErrorEntry
from kilit.lock.attempts import ATTEMPTS, AttemptsModel
from kilit.lock.constraints import checks
from kilit.lock.failures import Failures, error_group_field
from kilit.lock.table import Lifecycle
from ociqueue.codes.table import LONGEST_CODE, ErrorFacts, entry_for
from ociqueue.models.limits import max_attempts_of
from ociqueue.models.site import Site
from ociqueue.states import FAILING, IN_UPLOAD, WAITING, Category, ConversionStatus

# The columns on which an advice depends.
FACT_COLUMNS = (
    *("provider_error_code", "provider_error_category", "site__sync_method", "attempt_count", "attempts_forgiven"),
    *("status", "next_retry_at", "site__requeue_transient"),
)
# The columns of each event.
FACTS = ("attempt_count", "provider_error_code", "provider_error_category", "last_error")


class Uploadable(AttemptsModel):
    """A row for an upload; subclasses add what is sent, `site`, and `open_batch`, the upload that holds it."""

    # The columns that an upload sends, and those that settling needs; the others are loaded on access.
    SENT: ClassVar[tuple[str, ...]]
    # The rows that no verb sends again. Of the row's own columns only, which a verb reads again under its lock.
    NOT_RETRIED: ClassVar[Q]
    # What is known of its error codes.
    ERRORS: ClassVar[Mapping[str, ErrorEntry]]

    site: models.ForeignKey[Site, Site]
    status = models.CharField(max_length=10, choices=ConversionStatus, default=ConversionStatus.QUEUED, editable=False)
    action = models.CharField(_("conversion name"), max_length=100)
    order_id = models.CharField(max_length=64, help_text=_("It never changes, so Google counts the conversion once."))
    claimed_at = models.DateTimeField(_("claimed at"), null=True)
    next_retry_at = models.DateTimeField(_("next retry at"), null=True)
    uploaded_at = models.DateTimeField(
        _("uploaded at"), null=True, help_text=_("When Google confirmed it; empty on the script path.")
    )
    last_error = models.CharField(_("last error"), max_length=1000, blank=True)
    provider_error_code = models.CharField(_("provider error code"), max_length=LONGEST_CODE, blank=True)
    provider_error_category = models.CharField(max_length=10, choices=Category, blank=True)
    error_group = error_group_field()
    provider_request_id = models.CharField(_("provider request id"), max_length=64, blank=True)
    outcome_unknown = models.BooleanField(
        db_default=False, help_text=_("It was sent and no answer came: Google may have it.")
    )
    send_alone = models.BooleanField(
        db_default=False,
        editable=False,
        help_text=_("It is sent in a request of its own, so that the verdict on the request is its own."),
    )

    class Meta(AttemptsModel.Meta):
        abstract = True

    @property
    def entry(self) -> ErrorEntry:
        return entry_for(self.ERRORS, error_facts(map(self._read, FACT_COLUMNS)))

    def _read(self, name: str) -> Any:
        owner, _, column = name.rpartition("__")
        return getattr(self.site if owner else self, column)


def error_facts(columns: Iterable[Any]) -> ErrorFacts:
    """Return what an advice depends on, from these columns of a row."""
    code, category, sender, attempts, forgiven, status, not_before, is_requeued = columns
    is_retried = category == Category.TRANSIENT and is_requeued and attempts - forgiven < max_attempts_of(sender)
    return ErrorFacts(code, category, sender, status != ConversionStatus.FAILED or is_retried, not_before)


def uploadable_indexes(prefix: str, failures: Failures) -> list[Index]:
    """Return the indexes that both queues need; their names begin with the prefix."""
    failed = Q(status=ConversionStatus.FAILED)
    return [
        # Claims take a site's oldest rows; finished rows are not in the index.
        Index(fields=["site", "created_at", "id"], condition=Q(status__in=WAITING), name=f"{prefix}_due"),
        # Recover takes old claims.
        Index(fields=["claimed_at"], condition=Q(status=ConversionStatus.PROCESSING), name=f"{prefix}_claimed"),
        # An answer settles the rows of its upload.
        Index(fields=["open_batch"], condition=Q(open_batch__isnull=False), name=f"{prefix}_of_batch"),
        # The sweep that requeues TRANSIENT failures.
        Index(
            ATTEMPTS,
            condition=Q(status=ConversionStatus.FAILED, provider_error_category=Category.TRANSIENT),
            name=f"{prefix}_passing_failures",
        ),
        # Lists page through a site, with or without a state. What is processed is found by `claimed`: it is what was
        # claimed in the last minutes, and each claim would write an entry more.
        Index(fields=["site", "id"], name=f"{prefix}_of_site"),
        Index(
            fields=["site", "status", "id"],
            condition=~Q(status=ConversionStatus.PROCESSING),
            name=f"{prefix}_of_site_by_status",
        ),
        # Failures of all sites, however many newer rows succeeded. By id alone, so that the planner knows that the
        # index has the order of the list.
        Index(fields=["id"], condition=failed, name=f"{prefix}_failed"),
        # Lists of one error group or code. Rows without an error are left out.
        failures.index(f"{prefix}_of_error_group"),
        Index(fields=["provider_error_code", "id"], condition=~Q(provider_error_code=""), name=f"{prefix}_of_code"),
    ]


def uploadable_checks(prefix: str = "") -> list[CheckConstraint]:
    """Return what always holds for a row of an upload; constraint names are unique, so a queue may need a prefix."""
    conditions = {
        "processing_has_claimed_at": ~Q(status=ConversionStatus.PROCESSING) | Q(claimed_at__isnull=False),
        "queued_is_free": ~Q(status=ConversionStatus.QUEUED) | Q(claimed_at=None, next_retry_at=None),
        "failed_has_error_code": ~Q(status=ConversionStatus.FAILED) | ~Q(provider_error_code=""),
        "only_completed_is_uploaded": Q(uploaded_at=None) | Q(status=ConversionStatus.COMPLETED),
        "only_upload_has_batch": Q(open_batch=None) | Q(status__in=IN_UPLOAD),
        "uploaded_has_batch": ~Q(status=ConversionStatus.UPLOADED) | Q(open_batch__isnull=False),
        "forgiven_attempts_were_made": Q(attempts_forgiven__lte=F("attempt_count")),
    }
    return checks(**{f"{prefix}{name}": condition for name, condition in conditions.items()})


def failures_of(
    table: Lifecycle, expected: Mapping[str, ConversionStatus], *, quoted: str, settled: str = ""
) -> Failures:
    """Return how a queue's failures are grouped; `expected` are codes, with the states in which they are found."""
    return Failures(
        table,
        states=FAILING,
        code="provider_error_code",
        message="last_error",
        scope="site_id",
        prunable=True,
        settled=settled,
        erasable=True,
        quoted=quoted,
        expected=[
            (source, ConversionStatus.FAILED, code)
            for code, found_in in expected.items()
            for source in (found_in, ConversionStatus.QUEUED)
        ],
        rated=[ConversionStatus.FAILED],
    )
