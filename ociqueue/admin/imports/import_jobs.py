"""Imports in the console: what was found, the progress, and the grid of the lines that were not stored."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from django.contrib import admin, messages
from django.contrib.auth.models import User
from django.http import HttpRequest, QueryDict, StreamingHttpResponse
from django.template.defaultfilters import filesizeformat
from django.urls import reverse
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from kilit.batches.queues import queues
from kilit.console.admin.activity import ActivitySource, register_activity
from kilit.console.admin.bulk_actions import BatchJobAdmin, asked_by, refuse, state
from kilit.console.formatting import age, column, number, two_lines
from kilit.console.jobs.timeline import Story
from kilit.console.lists.listing import RowPage
from kilit.csv.grid import LINE, lines_from_text, text_from_lines
from kilit.csv.reader import REASON, FileTally, RejectedField
from kilit.csv.writer import CHUNK, csv_lines, csv_response
from kilit.lock.models import Event
from kilit.problems.registry import with_number
from ociqueue.admin.base.site_header import CONVERSIONS_MENU
from ociqueue.files.conversions import format_advice
from ociqueue.files.import_jobs import TABLES, may_import
from ociqueue.files.import_run import AT_ONCE, ENGINE, MOST_LINES_KEPT, start
from ociqueue.files.line_corrections import correct_lines
from ociqueue.models import ImportJob, ImportLine
from ociqueue.models.import_job import KEEP_LINES_FOR, SITE_COLUMN, ImportJobQuerySet, ImportKind
from ociqueue.operating.filters import IMPORT_FILTERS, ImportFilter
from ociqueue.schemas.conversions import fields_of
from ociqueue.states import CONVERSIONS, IMPORTS, ImportState


def columns_of(job: ImportJob) -> Sequence[str]:
    """Return the columns of the file of rejected lines."""
    fields = TABLES[job.kind].fields
    return fields_of(job.site, fields) if job.site else (SITE_COLUMN, *fields)


def cells_of(line: ImportLine, columns: Sequence[str]) -> dict[str, str]:
    """Return the cells of a line; one that could not be read is in the first of them as it is."""
    return line.cells or {columns[0]: line.text}


def line_grid(job: ImportJob, lines: Sequence[ImportLine]) -> dict[str, Any]:
    names = _columns(job, lines)
    rows = {line.line: cells_of(line, names) for line in lines}
    faults = [(line.line, field, reason) for line in lines for field, reason, _value in line.faults]
    return grid_of(rows, names, faults)


def grid_of(
    rows: Mapping[int, Mapping[str, str]], names: Sequence[str], faults: Iterable[tuple[int, str, str]]
) -> dict[str, Any]:
    """Return lines by their numbers for admin/console/grid.html, with faults of a line and a column."""
    columns = [{"name": LINE, "label": _("Line")}, *({"name": name, "label": name} for name in names)]
    places = {number: place for place, number in enumerate(rows)}
    faults_by_place = [
        [places[number], *_place(field, reason, names)] for number, field, reason in faults if number in places
    ]
    return {
        "name": "lines",
        "is_fixed": True,
        "rows": text_from_lines(rows, names),
        "columns": columns,
        "columns_json": json.dumps(columns),
        "faults_json": json.dumps(faults_by_place),
        "names": ",".join(names),
    }


def _columns(job: ImportJob, lines: Sequence[ImportLine]) -> list[str]:
    """Return the columns with faults first; those that are in none of the lines are left out."""
    columns = columns_of(job)
    faulty = {_place(field, reason, columns)[0] for line in lines for field, reason, _value in line.faults}
    used = {name for line in lines for name in line.cells} if all(line.cells for line in lines) else columns
    return sorted((name for name in columns if name in used or name in faulty), key=lambda name: name not in faulty)


def _place(field: str, reason: str, names: Sequence[str]) -> tuple[str, str]:
    """Return the cell of a fault; a fault of a whole line may begin with the name of a column."""
    before, colon, after = reason.partition(": ")
    return (before, after) if not field and colon and before in names else (field, reason)


def typed_lines(job: ImportJob, posted: QueryDict) -> dict[int, dict[str, str]]:
    """Return the lines of the grid that were changed, by their numbers."""
    allowed = columns_of(job)
    names = [name for name in posted.get("names", "").split(",") if name in allowed]
    typed = lines_from_text(posted.get("rows", ""), names)
    kept = ImportLine.objects.shown_for(job).filter(is_differing=False, line__in=typed)
    return {line.line: typed[line.line] for line in kept if names and typed[line.line] != cells_of(line, names)}


MOST_SHOWN = 200  # rejected lines on the page


STORY = Story(
    {
        "JOB_CREATED": gettext_lazy("File uploaded by %(who)s"),
        "check": gettext_lazy("The whole file was read; its encoding and amounts are certain"),
        "prepare": gettext_lazy("All lines checked"),
        "start": gettext_lazy("Import confirmed by %(who)s"),
        "finish": gettext_lazy("Import finished"),
        "refuse": gettext_lazy("File refused; nothing was stored"),
        "cancel": gettext_lazy("Import stopped by %(who)s"),
        "fail": gettext_lazy("Import failed"),
    }
)


def page_of(pk: object) -> str:
    return reverse("admin:ociqueue_importjob_change", args=[pk])


if CONVERSIONS.queue in queues:  # not switched off
    register_activity(
        IMPORTS.queue,
        ActivitySource(
            gettext_lazy("Imports"),
            STORY,
            lambda row: page_of(row.object_id),
            lambda ids: {str(job.pk): job.file_name for job in ImportJob.objects.filter(pk__in=ids)},
        ),
    )


def site_of(job: ImportJob) -> str:
    return job.site.name if job.site else _("several sites")


def _progress(job: ImportJob) -> SafeString:
    stored = tally_of(job).changes if job.is_storing else 0
    return two_lines(f"{job.percent} %", _("%(number)s stored") % {"number": number(stored)})


file = column("file", gettext_lazy("file"), lambda job: two_lines(job.file_name, filesizeformat(job.size)))
site = column("site", gettext_lazy("site"), site_of)
progress = column("progress", gettext_lazy("progress"), _progress)


def tally_of(job: ImportJob) -> FileTally:
    """Return what became of the lines, or would while nothing is stored."""
    return TABLES[job.kind].tally(**(job.counts if job.is_storing else job.checked))


def report_of(job: ImportJob) -> dict[str, Any]:
    tally, table = tally_of(job), TABLES[job.kind]
    model = "adjustment" if job.kind == ImportKind.ADJUSTMENTS else "conversion"
    rows = reverse(f"admin:ociqueue_{model}_changelist", query={ImportFilter.name: job.pk})
    return {
        "job": job,
        "about": table.about,
        "summary": tally.summary(dry_run=not job.is_storing),
        "site_name": site_of(job),
        "submit": with_number(table.submit, tally.changes, site=site_of(job)),
        "changes": tally.changes,
        "rows_address": rows if job.is_storing and tally.changes else "",
    }


def lines_of(job: ImportJob) -> dict[str, Any]:
    """Return the lines that were not stored: only for users who may import them."""
    tally, lines = tally_of(job), ImportLine.objects.shown_for(job)
    address = reverse("admin:ociqueue_importjob_lines", args=[job.pk])
    rejected, differing = lines.filter(is_differing=False), lines.filter(is_differing=True)
    # Those of a large file can be typed in once it is stored.
    is_typed = not job.is_open if job.is_storing else job.status == ImportState.READY and job.size <= AT_ONCE
    typed = list(rejected[:MOST_SHOWN]) if is_typed else []
    return {
        "grid": line_grid(job, typed) if typed else None,
        "rejected": _report(rejected, tally.rejected_lines, address),
        "differing": _report(differing, getattr(tally, "differing_lines", 0), f"{address}?differing"),
        "advice": format_advice(),
    }


def start_page(_model_admin: BatchJobAdmin, request: HttpRequest, job: ImportJob) -> None:
    """Store what was checked, and the lines that were corrected in the grid, also later.

    Beside the report may be a form that shows another site by now: the form says which one its reader sees.
    """
    if request.POST.get("site") != str(job.site_id or ""):
        message = _("Nothing was imported: the file was checked for %(site)s. Check it again for the site you mean.")
        messages.error(request, message % {"site": site_of(job)})
        return
    typed = typed_lines(job, request.POST)
    if not (start(job) or typed):
        refuse(request, job)
    if typed:
        tally = correct_lines(job, typed, cast("User", request.user))
        messages.info(request, _corrected(tally))


def cancel_page(_model_admin: BatchJobAdmin, request: HttpRequest, job: ImportJob) -> None:
    """Stop it; lines that were stored stay, and importing the file again stores the rest."""
    if ENGINE.cancel(job):
        messages.success(request, _cancelled(job))
    else:
        refuse(request, job)


def lines_file(_model_admin: BatchJobAdmin, request: HttpRequest, job: ImportJob) -> StreamingHttpResponse:
    is_differing = "differing" in request.GET
    lines = ImportLine.objects.shown_for(job).filter(is_differing=is_differing)
    columns, first = columns_of(job), lines.first()
    delimiter = first.delimiter if first else ","
    name = "differing-lines" if is_differing else "rejected-lines"
    cells = ({**cells_of(line, columns), REASON: line.reason} for line in lines.iterator(chunk_size=CHUNK))
    rows = ([line.get(column, "") for column in (*columns, REASON)] for line in cells)
    return csv_response(name, csv_lines([*columns, REASON], rows, delimiter=delimiter))


@admin.register(ImportJob)
class ImportJobAdmin(BatchJobAdmin):
    menu = CONVERSIONS_MENU.tab(2)
    page_title = gettext_lazy("Import")
    progress_template = "admin/ociqueue/import_progress.html"
    filters = IMPORT_FILTERS
    row_pages = {
        **BatchJobAdmin.row_pages,
        "lines": RowPage(lines_file, "operate"),
        "start": RowPage(start_page, "operate", is_posted=True),
        "cancel": RowPage(cancel_page, "operate", is_posted=True),
    }
    list_display = [file, site, state, progress, asked_by, age]
    list_select_related = ["asked_by", "site"]
    search_help_text = gettext_lazy("The id of an import")

    def get_queryset(self, request: HttpRequest) -> ImportJobQuerySet:
        rows: ImportJobQuerySet = super().get_queryset(request)
        return rows.visible_to(request.user)

    def get_search_results(self, request: HttpRequest, queryset: Any, search_term: str) -> tuple[Any, bool]:
        """List no checks that ended without a confirmation: nothing was imported."""
        imports = queryset.exclude(status=ImportState.CANCELLED, started_at=None)
        return super().get_search_results(request, imports, search_term)

    def has_operate_permission(self, request: HttpRequest, job: ImportJob | None = None) -> bool:
        return job is None or may_import(request.user, job.site)

    def context(self, request: HttpRequest, job: ImportJob) -> dict[str, object]:
        may_act, is_ready, report = may_import(request.user, job.site), job.status == ImportState.READY, report_of(job)
        if not (tally_of(job).lines or is_ready):
            report["summary"] = ""
        return {
            "original": job,
            "size": filesizeformat(job.size),
            "timeline": STORY.steps(Event.objects.history(job), labels=job.lifecycle.labels),
            "state_badge": state(job),
            "doing": _doing(job),
            "may_start": is_ready and may_act and report["changes"],
            "may_cancel": job.is_open and may_act,
            "cancel_label": _("Stop the rest") if job.is_storing else _("Stop"),
            "kept_days": KEEP_LINES_FOR.days,
            **report,
            **(lines_of(job) if may_act else {}),
        }


def _doing(job: ImportJob) -> str:
    sentences = {
        ImportState.READING: _("Reading all lines (%(percent)s %%). Nothing has been stored yet."),
        ImportState.CHECKING: _("Checking the lines (%(percent)s %%). Nothing has been stored yet."),
        ImportState.RUNNING: _("Storing the lines (%(percent)s %%)."),
    }
    return sentences.get(ImportState(job.status), "") % {"percent": job.percent}


def _corrected(tally: FileTally) -> str:
    numbers = tally.formatted(left=tally.rejected_lines, stored=tally.lines - tally.rejected_lines)
    if tally.rejected_lines:
        return _("%(stored)s of %(lines)s corrected lines imported, %(left)s to correct.") % numbers
    return _("%(stored)s of %(lines)s corrected lines imported.") % numbers


def _cancelled(job: ImportJob) -> str:
    stored = job.counts.get("created", 0) + job.counts.get("corrected", 0)
    if not stored:
        return _("Stopped. Nothing was stored.")
    return _("Stopped. %(stored)s were already stored and stay stored.") % {"stored": number(stored)}


def _report(lines: Any, total: int, address: str) -> dict[str, object] | None:
    first_lines = list(lines[:MOST_SHOWN])
    if not first_lines:
        return None
    return {
        "fields": [RejectedField(line.line, *fault) for line in first_lines for fault in line.faults],
        "hidden": number(total - len(first_lines)) if total > len(first_lines) else "",
        "address": address,
        "most_in_file": number(MOST_LINES_KEPT) if total > MOST_LINES_KEPT else "",
    }
