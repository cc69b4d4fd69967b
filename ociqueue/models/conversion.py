"""An offline conversion for Google Ads: the row is the job."""

import hashlib
from functools import partial
from typing import ClassVar, Self
from uuid import UUID

from django.db import models
from django.db.models import Func, Index, Q, TextField
from django.db.models.functions import Cast, Coalesce
from django.utils.translation import gettext_lazy as _

from kilit.lock.attempts import ATTEMPTS
from kilit.lock.column_guards import Counters, Settled
from kilit.lock.constraints import checks
from kilit.lock.triggers import lifecycle_triggers
from ociqueue import sentences
from ociqueue.codes.table import CONVERSION_ENTRIES, EXPECTED_FAILURES, EXPIRED, WITHHELD
from ociqueue.models import limits
from ociqueue.models.batch import UploadBatch
from ociqueue.models.key import CLICK_ID, key_triggers
from ociqueue.models.sending import (
    BATCH,
    NO_ERROR,
    OLDEST_FIRST,
    Changes,
    UploadableQuerySet,
    failure,
    sweep,
)
from ociqueue.models.site import Site
from ociqueue.models.uploadable import FACTS, Uploadable, failures_of, uploadable_checks, uploadable_indexes
from ociqueue.states import CONVERSIONS, ENDED, LIVE, WAITING, Category, ConversionStatus, EventSource, SyncMethod

ACKED: Changes = {**NO_ERROR, "outcome_unknown": False}
UNHELD: Changes = {"next_retry_at": None, "claimed_at": None}
RETRACTED = failure("RETRACTED_BEFORE_UPLOAD", Category.PERMANENT, sentences.RETRACTED)
END_RETRACTED: Changes = {**UNHELD, **RETRACTED}
END_WITHHELD: Changes = {**UNHELD, **failure(WITHHELD, Category.PERMANENT, sentences.WITHHELD)}
TOO_OLD = sentences.EXPIRED % {"days": limits.LONGEST_AGE.days}
END_EXPIRED: Changes = {**UNHELD, **failure(EXPIRED, Category.PERMANENT, TOO_OLD)}
NOT_ENDED = tuple(state for state in ConversionStatus if state not in ENDED)


def make_order_id(site: str, action: str, source: str) -> str:
    """Return the id by which Google counts a conversion once; `source` is the source key, or else the row's id."""
    return "oci_" + hashlib.sha256(f"{site}\n{action}\n{source}".encode()).hexdigest()[:40]


class ConversionQuerySet(UploadableQuerySet["Conversion"]):
    def not_replaced(self) -> Self:
        return self.filter(is_replaced=False)

    def erasable(self) -> Self:
        """Return rows that have ended, with all their adjustments, and still have what identifies a person."""
        return self.filter(status__in=ENDED, erased_at=None).exclude(adjustments__status__in=NOT_ENDED)

    def due(self, *, path: SyncMethod | None = None) -> Self:
        """Leave out what ends here: retracted and unknown to Google, withheld, or too old."""
        rows = super().due(path=path).filter(Q(is_retracted=False) | Q(outcome_unknown=True))
        return rows.filter(~limits.IS_TOO_OLD, ~limits.is_withheld())

    def retryable(self) -> Self:
        """Leave out failures that would only be withheld again."""
        return super().retryable().exclude(Q(status=ConversionStatus.FAILED) & limits.is_withheld())

    def with_limits(self) -> Self:
        is_too_old = models.ExpressionWrapper(limits.IS_TOO_OLD, output_field=models.BooleanField())
        is_withheld = models.ExpressionWrapper(limits.is_withheld(), output_field=models.BooleanField())
        return super().with_limits().annotate(is_too_old=is_too_old, is_withheld=is_withheld)

    def withheld(self) -> Self:
        """Return what waits, and is not sent because consent was denied: what `withhold` would end now."""
        return self.waiting().filter(limits.is_withheld())

    def expired(self) -> Self:
        """Return what waits, and is too old for Google: what `expire` would end now."""
        return self.waiting().filter(limits.IS_TOO_OLD)

    def retracted(self) -> Self:
        """Return what waits, was retracted and cannot be at Google, and has no retraction that would end it.

        Its retraction was marked as failed while an upload had claimed the conversion, or while its outcome was
        unknown. The upload then did not take place, or Google deferred it.
        """
        rows = self.waiting().filter(is_retracted=True, outcome_unknown=False)
        return rows.exclude(adjustments__status__in=NOT_ENDED)

    def sweep_retracted(self) -> int:
        return self._sweep_sites(self.retracted(), "retract", END_RETRACTED)

    def withhold(self) -> set[UUID]:
        """End these rows, as far as they are withheld; for few rows, in the transaction that stores them."""
        return self.withheld().move_each("withhold", **END_WITHHELD)

    def sweep_withheld(self) -> int:
        return self._sweep_sites(self.withheld(), "withhold", END_WITHHELD)

    def expire(self) -> int:
        """End what is too old for Google.

        In two sets, because an index has each of them: an index of all that wait by their time would be one more to be
        written for each row, and the planner might find a site's due rows by it, and sort all of them.
        """
        late = self.expired().filter(limits.CAME_LATE)
        by_time = ("conversion_time", "id")
        ended = sweep(partial(late.take, "expire", limit=BATCH, order=by_time, only=("id",), **END_EXPIRED))
        return ended + self._sweep_sites(self.expired().filter(limits.CAME_LONG_AGO), "expire", END_EXPIRED)

    @staticmethod
    def _sweep_sites(rows: "ConversionQuerySet", verb: str, ended: Changes) -> int:
        """Move rows of one site after the other, as the indexes of rows that wait have them."""
        total = 0
        for site in Site.objects.filter(models.Exists(rows.filter(site=models.OuterRef("pk")))):
            take = rows.for_site(site).take
            total += sweep(partial(take, verb, limit=BATCH, order=OLDEST_FIRST, only=("id",), **ended))
        return total

    def with_script(self) -> Self:
        """Return what a script may settle: nothing that an upload has claimed."""
        return self.filter(open_batch=None)

    def held_by(self, claims: models.Expression) -> Self:
        """Return the rows that are held by these claims: a JSON object of their numbers by the ids of rows.

        Each claim counts an attempt, so the count is the number of the claim. Older scripts send none, and a row
        without a number is as good as held. Looked up in the object, not joined: whatever the planner knows of the
        table, each row costs one binary search.
        """
        number = Func(claims, Cast("pk", TextField()), template="(%(expressions)s)::integer", arg_joiner="::jsonb ->> ")
        return self.filter(attempt_count=Coalesce(number, "attempt_count", output_field=models.IntegerField()))

    def ack_failed(self, *, code: str, category: str, message: str) -> set[UUID]:
        """Fail what the script could not upload; the claim has already counted the attempt."""
        # An upload that threw may have succeeded all the same; what the script found invalid was never sent.
        in_doubt = {"outcome_unknown": True} if category == Category.TRANSIENT else {}
        return self.with_script().move_each("ack_failed", **failure(code, category, message), **in_doubt)


PREFIX = "seal_"
FAILURES = failures_of(CONVERSIONS, EXPECTED_FAILURES, quoted=CLICK_ID, settled="is_replaced")
NO_CLICK_ID = Q(gclid="", wbraid="", gbraid="")
NO_HASH = Q(hashed_email="", hashed_phone="")
CLICK_IDS = ("gclid", "wbraid", "gbraid")
HASHES = ("hashed_email", "hashed_email_ads", "hashed_phone")
HASH = "^[0-9a-f]{64}$"


class Conversion(Uploadable):
    """One conversion. Constraints keep invalid rows out, so nothing has to be dropped after a claim."""

    lifecycle = CONVERSIONS

    class Consent(models.TextChoices):
        UNSPECIFIED = "UNSPECIFIED"
        GRANTED = "GRANTED"
        DENIED = "DENIED"

    CLICK_IDS: ClassVar = CLICK_IDS
    ERRORS = CONVERSION_ENTRIES
    NOT_RETRIED = (
        Q(is_replaced=True)
        | Q(erased_at__isnull=False)
        | Q(Q(is_retracted=True) | limits.IS_TOO_OLD, status=ConversionStatus.FAILED)
    )
    HASHES: ClassVar = HASHES
    SENT = (
        *("id", "action", "gclid", "wbraid", "gbraid", "conversion_time", "value", "currency", "order_id"),
        *("consent_ad_user_data", "consent_ad_personalization", "event_source", "outcome_unknown", "send_alone"),
        *HASHES,
    )

    site = models.ForeignKey(
        Site,
        verbose_name=_("site"),
        db_index=False,  # the list indexes begin with it; another would be written by every move
        on_delete=models.PROTECT,
        related_name="conversions",
    )
    gclid = models.CharField(max_length=512, blank=True)
    wbraid = models.CharField(max_length=512, blank=True)
    gbraid = models.CharField(max_length=512, blank=True)
    # SHA-256 in hex (ociqueue.values.identifiers). The second is set if the Google Ads API's rule gives another hash.
    hashed_email = models.CharField(max_length=64, blank=True, default="", db_default="", editable=False)
    hashed_email_ads = models.CharField(max_length=64, blank=True, default="", db_default="", editable=False)
    hashed_phone = models.CharField(max_length=64, blank=True, default="", db_default="", editable=False)
    erased_at = models.DateTimeField(
        _("erased at"), null=True, editable=False, help_text=_("When what identified the person was removed.")
    )
    conversion_time = models.DateTimeField(_("conversion time"))
    value = models.DecimalField(max_digits=15, decimal_places=3)
    currency = models.CharField(max_length=3)
    consent_ad_user_data = models.CharField(
        _("consent: ad user data"),
        max_length=11,
        choices=Consent,
        default=Consent.UNSPECIFIED,
        db_column="consent",  # the name it had when one consent meant both
    )
    consent_ad_personalization = models.CharField(
        _("consent: ad personalization"), max_length=11, choices=Consent, db_default=Consent.UNSPECIFIED
    )
    event_source = models.CharField(
        _("event source"), max_length=8, choices=EventSource, default=EventSource.WEB, db_default=EventSource.WEB
    )
    source_key = models.CharField(max_length=200, null=True, blank=True)  # noqa: DJ001 - unique only when given
    # Unique by the index `one_replacement` (migration 0035), which has only rows that replace another. The one that
    # Django would make has all, and is written by every move.
    replaces = models.OneToOneField(
        "self", verbose_name=_("replaces"), null=True, blank=True, on_delete=models.PROTECT, related_name="replacement"
    )
    # On the row itself, so that a retry that waited for its lock reads it again (ociqueue.intake.corrections).
    is_replaced = models.BooleanField(
        _("replaced"), db_default=False, editable=False, help_text=_("A corrected copy was sent in its place.")
    )
    is_retracted = models.BooleanField(
        _("retracted"), db_default=False, editable=False, help_text=_("A retraction was accepted: it is not retried.")
    )

    open_batch = models.ForeignKey(
        UploadBatch,
        null=True,
        db_index=False,  # the partial index below is enough: finished rows have none
        on_delete=models.PROTECT,
        related_name="open_rows",
        help_text=_("The upload that has claimed it."),
    )

    objects = ConversionQuerySet.as_manager()

    class Meta(Uploadable.Meta):
        abstract = False
        db_table = "offline_conversion_queue"
        verbose_name, verbose_name_plural = _("conversion"), _("conversions")
        triggers = [
            *lifecycle_triggers(
                CONVERSIONS,
                scope="site_id",
                facts=FACTS,
                empty_facts=False,
                facts_of_new=False,  # all empty
                finished=ENDED,
                fixed=["site_id", "action", "source_key", "order_id"],
                counters=Counters(raised_by={"attempt_count": "claim"}),
                settled=Settled(
                    states=[ConversionStatus.UPLOADED, ConversionStatus.COMPLETED],  # Google has it
                    columns=["value", "currency", "conversion_time"],
                    erasable=[*CLICK_IDS, *HASHES],
                ),
            ),
            *FAILURES.triggers(),
            *key_triggers(),
        ]
        constraints = [
            *checks(
                # Google accepts one click id per conversion, and needs one or a hash.
                conversion_has_one_click_id_or_hash=Q(~Q(gclid=""), wbraid="", gbraid="")
                | Q(~Q(wbraid=""), gclid="", gbraid="")
                | Q(~Q(gbraid=""), gclid="", wbraid="")
                | NO_CLICK_ID & (~NO_HASH | Q(erased_at__isnull=False)),
                # No clear e-mail or phone can be stored in their place.
                conversion_hashes_are_hashes=(Q(hashed_email="") | Q(hashed_email__regex=HASH))
                & (Q(hashed_email_ads="") | Q(hashed_email_ads__regex=HASH) & ~Q(hashed_email=""))
                & (Q(hashed_phone="") | Q(hashed_phone__regex=HASH)),
                # The upper bound also keeps NaN out, which PostgreSQL sorts above every number.
                conversion_value_is_a_price=Q(value__gte=0, value__lt=10**12),
                conversion_currency_is_a_code=Q(currency__regex="^[A-Z]{3}$"),
                # Google refuses a whole request for one other source.
                conversion_event_source_is_known=Q(event_source__in=EventSource.values),
                # The copy is sent in its place, so it never comes back.
                replaced_has_ended=Q(is_replaced=False) | Q(status__in=ENDED),
                # Without what identifies the person it cannot be sent.
                erased_has_ended=Q(erased_at=None) | Q(status__in=ENDED),
            ),
            *uploadable_checks(),
        ]
        # A move writes an entry into each of them whose condition holds. What a row is known and searched by, and that
        # it is unique, is in ConversionKey.
        indexes = [
            *uploadable_indexes("conversion", FAILURES),
            # Supervisors ask often whether a row is due, however many wait for their retry time. As two
            # indexes, neither of which has all rows of a claim: without statistics of a site's new rows, the planner
            # would find them by such an index, and sort all of them for each claim.
            Index(fields=["site"], condition=Q(status__in=WAITING, next_retry_at=None), name="conversion_ready"),
            Index(
                fields=["site", "next_retry_at"],
                condition=Q(status__in=WAITING, next_retry_at__isnull=False),
                name="conversion_deferred",
            ),
            # Rows that are sent alone are few, and claimed separately.
            Index(
                fields=["site", "created_at", "id"],
                condition=Q(send_alone=True, status__in=WAITING),
                name="conversion_due_alone",
            ),
            # The sweep of what is not sent: rows whose visitors denied consent, which end at once or are few, and rows
            # that came late. All others expire long after they came, and `conversion_due` has them.
            Index(
                fields=["site", "created_at", "id"],
                condition=Q(limits.IS_DENIED, status__in=WAITING),
                name="conversion_denied",
            ),
            Index(
                fields=["conversion_time", "id"],
                condition=Q(limits.CAME_LATE, status__in=WAITING),
                name="conversion_came_late",
            ),
            # The sweep of what was retracted and waits again. Most retracted rows end at once.
            Index(
                fields=["site", "created_at", "id"],
                condition=Q(is_retracted=True, status__in=WAITING),
                name="conversion_retracted",
            ),
            # Rows whose outcome is unknown are few: they are listed, and counted before a site changes its account.
            Index(fields=["id"], condition=Q(outcome_unknown=True), name="conversion_unknown"),
            # The cap takes rows that used up their attempts. Most rows are claimed once, and are not in it.
            Index(ATTEMPTS, condition=Q(limits.TRIED_AGAIN, status__in=LIVE), name="conversion_tried_again"),
            # Lists of a state of all sites, and of a category.
            Index(fields=["id"], condition=Q(status=ConversionStatus.RETRY), name="conversion_in_retry"),
            Index(
                fields=["provider_error_category", "id"],
                condition=~Q(provider_error_category=""),
                name="conversion_of_category",
            ),
        ]

    def __str__(self) -> str:
        return f"{PREFIX}{self.pk}"

    @property
    def kind_of_click_id(self) -> str:
        """The name of the row's click id; empty if it has hashes alone, or was erased."""
        return "gclid" if self.gclid else "wbraid" if self.wbraid else "gbraid" if self.gbraid else ""

    @property
    def has_only_hashes(self) -> bool:
        return not self.click_id and bool(self.hashed_email or self.hashed_phone)

    @property
    def click_id(self) -> str:
        return self.gclid or self.wbraid or self.gbraid
