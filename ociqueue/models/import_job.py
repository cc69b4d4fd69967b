"""The import of a large CSV file: workers read, check and store it in batches."""

from datetime import timedelta
from typing import Self

from django.conf import settings
from django.contrib.auth.models import AnonymousUser, User
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from kilit.lock.constraints import checks
from kilit.lock.leases import LongJobModel, LongJobQuerySet, no_lease
from kilit.lock.triggers import lifecycle_triggers
from ociqueue.models.site import Site
from ociqueue.states import IMPORT_WORKING, IMPORTS, ImportState

# A dead worker's import waits this long. A slow batch is safe all the same: its transaction keeps the row locked.
LEASE = timedelta(seconds=30)
CONFIRM_WITHIN = timedelta(days=1)
REPORTED_FOR = timedelta(days=1)  # an import that failed is a problem for so long


class ImportKind(models.TextChoices):
    CONVERSIONS = "conversions", _("conversions")
    ADJUSTMENTS = "adjustments", _("adjustments")
    CORRECTIONS = "corrections", _("corrections")


class ImportJobQuerySet(LongJobQuerySet["ImportJob"]):
    def visible_to(self, user: User | AnonymousUser) -> Self:
        return self.filter(site__in=Site.objects.seen_by(user))

    def due(self) -> Self:
        """Return what a worker may claim: nothing holds it, or the lease of a worker that died."""
        return self.free().filter(status__in=IMPORT_WORKING)

    def claim(self) -> "ImportJob | None":
        # The one that waits longest, so that imports take turns.
        return self.due().lease_next(order=("updated_at", "id"), updated_at=Now())

    def start(self) -> int:
        return self.move("start", started_at=Now(), **FROM_THE_BEGINNING)

    def cancel(self) -> int:
        """Stop before the next batch; lines that were stored stay."""
        return self.move("cancel", finished_at=Now(), **no_lease())

    def never_confirmed(self) -> Self:
        return self.filter(status=ImportState.READY, updated_at__lt=Now() - CONFIRM_WITHIN)

    def waiting(self) -> Self:
        """Return imports that have not ended: their files are kept."""
        return self.filter(status__in=[*IMPORT_WORKING, ImportState.READY])

    def ended(self) -> Self:
        return self.exclude(status__in=[*IMPORT_WORKING, ImportState.READY])

    def failed_lately(self) -> Self:
        return self.filter(status=ImportState.FAILED, finished_at__gt=Now() - REPORTED_FOR)


FROM_THE_BEGINNING = {"done_bytes": 0, "next_line": 0}


class ImportJob(LongJobModel):
    """One file, in the name of the user who chose it. The file itself is kept in parts until the import ends."""

    lifecycle = IMPORTS
    lease_length = LEASE

    status = models.CharField("state", max_length=9, choices=ImportState, default=ImportState.READING, editable=False)
    site = models.ForeignKey(Site, verbose_name=_("site"), on_delete=models.PROTECT, related_name="imports")
    asked_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="imports")
    file_name = models.CharField(_("file"), max_length=200)
    size = models.PositiveBigIntegerField(help_text="Bytes of the file.")
    kind = models.CharField(max_length=11, choices=ImportKind)
    language = models.CharField(max_length=10, default="en", help_text="Of the user: reasons are written in it.")
    encoding = models.CharField(max_length=20, blank=True)
    amounts = models.JSONField(default=dict, help_text="What the lines have shown of how amounts are written.")
    decimal_mark = models.CharField(max_length=1, blank=True)
    done_bytes = models.PositiveBigIntegerField(default=0, help_text="In this state, all lines up to here are done.")
    next_line = models.PositiveIntegerField(default=0, help_text="The number of the line there.")
    line_count = models.PositiveIntegerField(default=0, help_text="Lines of the file, below its header.")
    checked = models.JSONField(default=dict, help_text="What would become of the lines, counted.")
    counts = models.JSONField(default=dict, help_text="What became of them, counted.")
    error = models.CharField(max_length=1000, blank=True)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    objects = ImportJobQuerySet.as_manager()

    class Meta(LongJobModel.Meta):
        abstract = False
        verbose_name, verbose_name_plural = _("import"), _("imports")
        default_permissions = ("view",)  # type: ignore[assignment]
        triggers = lifecycle_triggers(
            IMPORTS,
            scope="site_id",
            facts=["line_count", "counts", "error"],
            facts_of_new=False,
            machine_verbs=["fail"],
            fixed=["site_id", "asked_by_id", "kind", "size"],
        )
        constraints = [
            *checks(
                resting_import_is_free=Q(status__in=IMPORT_WORKING) | Q(claim_token=None, lease_until=None),
                import_done_within_size=Q(done_bytes__lte=F("size")),
                # Nothing is stored of a file that was not read to its end, or not confirmed.
                running_import_was_read=~Q(status__in=[ImportState.READY, ImportState.RUNNING, ImportState.DONE])
                | (~Q(encoding="") & ~Q(decimal_mark="")),
                running_import_was_started=~Q(status__in=[ImportState.RUNNING, ImportState.DONE])
                | Q(started_at__isnull=False),
                done_import_read_all=~Q(status=ImportState.DONE) | Q(done_bytes=F("size")),
                stopped_import_says_why=~Q(status__in=[ImportState.REFUSED, ImportState.FAILED]) | ~Q(error=""),
            )
        ]
        indexes = [
            # The doorbell asks every second for what is due; finished imports are not in it.
            models.Index(fields=["updated_at", "id"], condition=Q(status__in=IMPORT_WORKING), name="import_due"),
            # The dashboard asks for imports that failed lately.
            models.Index(fields=["finished_at"], condition=Q(status=ImportState.FAILED), name="import_failed"),
            # A site's list.
            models.Index(fields=["site", "id"], name="import_of_site"),
        ]

    def __str__(self) -> str:
        return f"import {self.pk}"

    @property
    def is_working(self) -> bool:
        return self.status in IMPORT_WORKING

    @property
    def is_storing(self) -> bool:
        return self.started_at is not None

    @property
    def percent(self) -> int:
        return 100 * self.done_bytes // self.size

    def check_lines(self, *, decimal_mark: str) -> Self:
        return self.move_held("check", decimal_mark=decimal_mark, lapse_count=0, **FROM_THE_BEGINNING)

    def prepare(self) -> Self:
        return self.move_held("prepare", lapse_count=0, **no_lease())

    def finish(self) -> Self:
        return self.move_held("finish", done_bytes=F("size"), finished_at=Now(), **no_lease())

    def stop(self, verb: str, error: str) -> Self:
        """Refuse the file, or fail."""
        return self.move_held(verb, finished_at=Now(), error=error[:1000], **no_lease())
