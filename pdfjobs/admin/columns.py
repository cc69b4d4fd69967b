"""Columns and fields of a PDF job in the console."""

import json
from typing import Any

from django.template.defaultfilters import filesizeformat
from django.utils.formats import number_format
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from kilit.console.formatting import (
    breakable,
    column,
    duration,
    error_cell,
    number,
    since,
    two_lines,
    verbatim,
)
from kilit.console.jobs.states import States, with_priority
from kilit.machine_errors import in_words
from pdfjobs.models import PdfJob
from pdfjobs.states import MAX_RETRIES, PDF_JOBS, PdfStatus

LONGEST_SHOWN = 20_000
STATES = States(PDF_JOBS, colours={PdfStatus.EXPIRED: ""})


def row_name(row: PdfJob) -> str:
    return row.document_number or row.template_name


def _name(row: PdfJob) -> SafeString:
    details = [row.recipient, row.template_name] if row.document_number else [f"…{row.job_id[-12:]}"]
    return two_lines(row_name(row), " · ".join(filter(None, details)), title=row.job_id)


def _retries(row: PdfJob) -> str:
    return gettext("%(used)s of %(most)s") % {"used": row.retry_count, "most": MAX_RETRIES}


def _took(row: PdfJob) -> str:
    return gettext("%(number)s s") % {"number": number_format(row.seconds, 2)} if row.seconds is not None else "-"


def request_of(row: PdfJob) -> list[tuple[str, SafeString]]:
    return [(gettext("Variables"), verbatim(_json(row.payload))), (gettext("Options"), verbatim(_json(row.options)))]


def _json(value: object) -> str:
    text = json.dumps(value, indent=2, ensure_ascii=False, sort_keys=True)
    if len(text) <= LONGEST_SHOWN:
        return text
    beyond = gettext("… %(number)s characters in total") % {"number": number(len(text))}
    return f"{text[:LONGEST_SHOWN]}\n{beyond}"


name = column("name", _("document"), _name)
state = column("state", _("state"), lambda row: with_priority(STATES.badge(row.status), row))
owner = column("owner", _("owner"), lambda row: row.owner.get_username())
retries = column("retries", _("retries"), _retries)
error = column("error", _("error"), lambda row: error_cell(row, row.error_code, row.error_detail))
size = column(
    "size",
    _("file"),
    lambda row: filesizeformat(row.artifact_size) if row.artifact_key else "-",
    sort_key=lambda row: row.artifact_size or 0,
)
took = column("took", _("took"), _took, sort_key=lambda row: row.seconds or 0)
age = column("age", _("age"), lambda row: since(row.created_at), order="id")
detail = column("error_detail", _("details for operators"), lambda row: in_words(row.error_detail) or "-")
key = column("key", _("job key"), lambda row: breakable(row.job_key))
timeout = column("timeout", _("timeout"), lambda row: duration(row.timeout))
artifact = column("artifact", _("artifact key"), lambda row: breakable(row.artifact_key) or "-")
digest = column("digest", _("artifact digest"), lambda row: breakable(row.artifact_digest) or "-")
# Columns are functions, so Django does not sort by them, which would read the whole table.
COLUMNS = [name, state, owner, retries, error, size, took, age]
FIELDSETS: Any = [
    (None, {"fields": ["document_number", "recipient", "template_name", owner, retries]}),
    (_("Error"), {"fields": ["error_code", detail]}),
    (_("Times"), {"fields": ["created_at", "queued_at", "started_at", "finished_at", took]}),
    (_("File"), {"fields": [size, artifact, digest]}),
    (_("Request"), {"fields": [key, timeout]}),
]
