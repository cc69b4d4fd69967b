"""The import of a CSV file: it is read, checked and stored in batches, by workers or, if it is small, in the request.

It keeps the file in parts, what its lines name, and the lines that were not stored. They hold personal data: the first
two are deleted when the import ends, the last some days later.
"""

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Self

import pgtrigger
from django.conf import settings
from django.contrib.auth.models import AnonymousUser, User
from django.db import connection, models
from django.db.models import F, Q
from django.db.models.functions import Cast, Now
from django.utils.translation import gettext_lazy as _

from kilit.access.roles import is_owner
from kilit.batches.jobs import BatchJob, BatchJobQuerySet, is_working, open_states, rests_freely
from kilit.csv.index import MOST_LINES, LineKey
from kilit.lock.column_guards import listed, refuse_rows
from kilit.lock.constraints import checks
from kilit.lock.triggers import lifecycle_triggers
from kilit.sentences import Sentence
from ociqueue import sentences
from ociqueue.models.site import Site
from ociqueue.states import IMPORTS, ImportState

REPORTED_FOR = timedelta(days=1)  # an import that failed is a problem for so long


class ImportKind(models.TextChoices):
    CONVERSIONS = "conversions", _("conversions")
    ADJUSTMENTS = "adjustments", _("adjustments")
    CORRECTIONS = "corrections", _("corrections")


# Of the rows that an import stores; each has the id of its import as a value.
REASONS = {
    ImportKind.CONVERSIONS: sentences.IMPORTED,
    ImportKind.ADJUSTMENTS: sentences.ADJUSTED_IN_FILE,
    ImportKind.CORRECTIONS: sentences.CORRECTED_IN_FILE,
}


class ImportJobQuerySet(BatchJobQuerySet["ImportJob"]):
    def visible_to(self, user: User | AnonymousUser) -> Self:
        """Return imports of the user's sites; who imported a file of several sites sees it, and owners do."""
        if is_owner(user):
            return self.all()
        return self.filter(Q(site__in=Site.objects.seen_by(user)) | Q(site=None, asked_by=user.pk or 0))

    def start(self) -> int:
        return self.move("start", started_at=Now(), **FROM_THE_BEGINNING)

    def ended(self) -> Self:
        return self.exclude(status__in=open_states(IMPORTS))

    def failed_lately(self) -> Self:
        return self.filter(status=ImportState.FAILED, finished_at__gt=Now() - REPORTED_FOR)


FROM_THE_BEGINNING = {"done_bytes": 0, "next_line": 0}


def adds_up(row: str) -> str:
    """Return the SQL condition that as many lines as were read are counted, each with what became of it."""
    column = f"CASE {row}.status WHEN '{ImportState.READY}' THEN {row}.checked ELSE {row}.counts END"
    names = ("lines", "created", "corrected", "duplicates", "unchanged", "rejected_lines")
    lines, *results = [f"coalesce(({column} ->> '{name}')::int, 0)" for name in names]
    return f"({row}.line_count = {lines} AND {row}.line_count = {' + '.join(results)})"


class ImportJob(BatchJob):
    """One file, in the name of the user who chose it. The file itself is kept in parts until the import ends."""

    lifecycle = IMPORTS

    status = models.CharField("state", max_length=9, choices=ImportState, default=ImportState.READING, editable=False)
    site = models.ForeignKey(
        Site,
        verbose_name=_("site"),
        on_delete=models.PROTECT,
        null=True,
        related_name="imports",
        help_text="Or each line names its own.",
    )
    asked_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="imports", help_text="Or a command."
    )
    is_confirmed = models.BooleanField(
        default=False, db_default=False, help_text="It is stored as soon as it was read."
    )
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

    objects = ImportJobQuerySet.as_manager()

    class Meta(BatchJob.Meta):
        abstract = False
        verbose_name, verbose_name_plural = _("import"), _("imports")
        default_permissions = ("view",)  # type: ignore[assignment]
        triggers = [
            *lifecycle_triggers(
                IMPORTS,
                scope="coalesce({}.site_id::text, '')",
                facts=["line_count", "counts", "error"],
                facts_of_new=False,
                machine_verbs=["fail"],
                fixed=["site_id", "asked_by_id", "kind", "size"],
            ),
            # Of imports that do not add up since before this guard, other columns may change: a person is erased.
            refuse_rows(
                "account_for_lines",
                pgtrigger.Update,
                f"NEW.status IN ({listed([ImportState.READY, ImportState.DONE])}) AND NOT {adds_up('NEW')}"
                f" AND (NEW.status <> OLD.status OR {adds_up('OLD')})",
                "format('import %s cannot be %s: its counts do not add up', OLD.id, NEW.status)",
                hint="Each line that was read is counted with what became of it.",
            ),
        ]
        constraints = [
            *checks(
                resting_import_is_free=rests_freely(IMPORTS),
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
            models.Index(fields=["updated_at", "id"], condition=is_working(IMPORTS), name="import_due"),
            # The dashboard asks for imports that failed lately.
            models.Index(fields=["finished_at"], condition=Q(status=ImportState.FAILED), name="import_failed"),
            # A site's list.
            models.Index(fields=["site", "id"], name="import_of_site"),
        ]

    @property
    def reason(self) -> Sentence:
        """Return why its rows exist, as their events say."""
        return REASONS[ImportKind(self.kind)] % {"import": self.pk}

    def __str__(self) -> str:
        return f"import {self.pk}"

    @property
    def is_storing(self) -> bool:
        return self.started_at is not None

    @property
    def percent(self) -> int:
        return 100 * self.done_bytes // self.size

    def check_lines(self, *, decimal_mark: str) -> Self:
        return self.move_held("check", decimal_mark=decimal_mark, lapse_count=0, **FROM_THE_BEGINNING)


SITE_COLUMN = "siteId"
MOST_SALT = 2**63 - 1
KEEP_LINES_FOR = timedelta(days=7)
ADD_KEYS = """
    INSERT INTO ociqueue_importkey (job_id, line, digest, value)
    SELECT %s, * FROM unnest(%s::int[], %s::bigint[], %s::bigint[])
"""
FIND_KEYS = """
    SELECT found.line, wanted.digest, found.value
    FROM unnest(%s::bigint[]) AS wanted (digest)
    CROSS JOIN LATERAL (
      SELECT line, value FROM ociqueue_importkey
      WHERE job_id = %s AND digest = wanted.digest ORDER BY line LIMIT %s
    ) AS found
"""


class ImportChunk(models.Model):
    """A part of the file, encrypted: it may name people. All machines' workers can read it."""

    job = models.ForeignKey(ImportJob, on_delete=models.PROTECT, related_name="chunks", db_index=False)
    number = models.PositiveIntegerField()
    content = models.BinaryField()

    class Meta:
        default_permissions = ()
        constraints = [models.UniqueConstraint(fields=["job", "number"], name="one_import_chunk")]

    def __str__(self) -> str:
        return f"part {self.number} of {self.job_id}"


class ImportKey(models.Model):
    job = models.ForeignKey(ImportJob, on_delete=models.PROTECT, related_name="keys", db_index=False)
    line = models.PositiveIntegerField()
    digest = models.BigIntegerField()
    value = models.BigIntegerField()

    class Meta:
        default_permissions = ()
        # A batch asks which other lines name the same.
        indexes = [models.Index(fields=["job", "digest", "line"], name="import_lines_by_key")]

    def __str__(self) -> str:
        return f"key of line {self.line} of {self.job_id}"


@dataclass(frozen=True)
class LineIndex:
    """Which lines of an import name the same thing."""

    job: ImportJob
    salt: int = 0  # tells the sites of a file apart

    def of_site(self, site: Site) -> Self:
        return replace(self, salt=0 if self.job.site_id else site.pk.int & MOST_SALT)

    def add(self, keys: Sequence[LineKey]) -> None:
        keys = [key._replace(digest=key.digest ^ self.salt) for key in keys]
        columns = [[key[place] for key in keys] for place in range(len(LineKey._fields))]
        with connection.cursor() as cursor:
            cursor.execute(ADD_KEYS, [self.job.pk, *columns])

    def find(self, digests: Iterable[int]) -> dict[int, list[LineKey]]:
        """Return the first lines with these digests, one more than are looked at, in the order of the file."""
        lines: dict[int, list[LineKey]] = {}
        with connection.cursor() as cursor:
            cursor.execute(FIND_KEYS, [sorted(digest ^ self.salt for digest in digests), self.job.pk, MOST_LINES + 1])
            for line, digest, value in cursor.fetchall():
                lines.setdefault(digest ^ self.salt, []).append(LineKey(line, digest ^ self.salt, value))
        return lines


class ImportLineQuerySet(models.QuerySet["ImportLine"]):
    def shown_for(self, job: ImportJob) -> Self:
        """Return the lines that were not stored, or would not be while nothing is."""
        return self.filter(job=job, is_checked=not job.is_storing).order_by("line")

    def about(self, text: str, sites: Collection[Site]) -> Self:
        names = [site.public_id for site in sites]
        of_many = Q(**{f"cells__{SITE_COLUMN}__in": names}) | Q(cells={})  # an unreadable line may be of any site
        lines = self.filter(Q(job__site__in=[site.pk for site in sites]) | Q(of_many, job__site=None))
        as_json = json.dumps(text, ensure_ascii=False)[1:-1]
        return lines.annotate(all_cells=Cast("cells", models.TextField())).filter(
            Q(all_cells__icontains=as_json) | Q(text__icontains=text) | Q(reason__icontains=text)
        )

    def outdated(self) -> Self:
        return self.filter(job__finished_at__lt=Now() - KEEP_LINES_FOR)


class ImportLine(models.Model):
    """A line that was not stored: it was rejected, or is stored already with other values."""

    job = models.ForeignKey(ImportJob, on_delete=models.PROTECT, related_name="lines", db_index=False)
    line = models.PositiveIntegerField()
    is_checked = models.BooleanField(help_text="Found by the check, before anything was stored.")
    is_differing = models.BooleanField(help_text="It is stored, with other values.")
    cells: Any = models.JSONField(help_text="By column, as the file of rejected lines shows them.")
    text = models.TextField(blank=True, help_text="Of a line that could not be read.")
    faults: Any = models.JSONField(help_text="What is wrong: a list of field, reason and value.")
    reason = models.TextField()
    delimiter = models.CharField(max_length=1)

    objects = ImportLineQuerySet.as_manager()

    class Meta:
        default_permissions = ()
        # The page and the file show them in the order of the file.
        indexes = [models.Index(fields=["job", "is_checked", "is_differing", "line"], name="import_lines_in_order")]

    def __str__(self) -> str:
        return f"line {self.line} of {self.job_id}"
