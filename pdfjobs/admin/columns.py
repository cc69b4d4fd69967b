"""Columns and fields of a PDF job in the console."""

import json
from typing import Any

from django.contrib.admin.utils import flatten_fieldsets
from django.template.defaultfilters import filesizeformat
from django.utils.formats import number_format
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from kilit.console.formatting import breakable, code_badge, column, error_cell, number, since, two_lines, verbatim
from kilit.console.machine_errors import in_words
from pdfjobs.models import PdfJob
from pdfjobs.rendering.errors import MISSING_PAGES, TOO_LARGE
from pdfjobs.states import MAX_RETRIES, ErrorCode, PdfStatus

LONGEST_SHOWN = 20_000
COLOURS = {
    PdfStatus.QUEUED: "info",
    PdfStatus.RUNNING: "primary",
    PdfStatus.SUCCEEDED: "success",
    PdfStatus.FAILED: "danger",
    PdfStatus.EXPIRED: "",
}
REMEDIES = {
    ErrorCode.BROWSER_LAUNCH_FAILED: _("Check the worker's memory and its log, then Retry."),
    ErrorCode.BROWSER_CRASHED: _("Check the worker's memory and its log, then Retry."),
    ErrorCode.NAVIGATION_TIMEOUT: _("Ask for a shorter document or more time, or Retry."),
    ErrorCode.WORKER_LOST: _("Check the worker's memory and its log, then Retry."),
    ErrorCode.STORAGE_UNAVAILABLE: _("Fix the storage of PDF files, then Retry."),
    ErrorCode.VERSION_MISMATCH: _("Run the same version on web and workers, then request the document again."),
    ErrorCode.TEMPLATE_ERROR: _("Fix the template or the request, then Retry."),
    ErrorCode.UNSUPPORTED_PLATFORM: _("Run manage.py browser on the worker's machine, then Retry."),
    ErrorCode.UNKNOWN: _("The details may show the cause. Fix it, then Retry."),
}


def state_badge(status: str) -> SafeString:
    return code_badge(status, COLOURS[PdfStatus(status)])


def remedy(row: PdfJob) -> str:
    code = ErrorCode(row.error_code)
    if row.error_detail.startswith(MISSING_PAGES):
        text = gettext(
            "The request asks for the pages %(pages)s, which this document does not have. Retry cannot help: the "
            "caller has to request it again with other pages."
        )
        return text % {"pages": row.options.get("pages", "")}
    if row.error_detail.startswith(TOO_LARGE):
        return gettext("The requested document is too large. Retry cannot help: the caller has to ask for less.")
    used_up = gettext("All automatic retries failed.") + " " if code.retryable else ""
    return f"{used_up}{REMEDIES[code]}"


def row_name(row: PdfJob) -> str:
    """Return what people call the document; older jobs did not store it, and show their template."""
    return row.document_number or row.template_name


def _name(row: PdfJob) -> SafeString:
    about = [row.recipient, row.template_name] if row.document_number else [f"…{row.job_id[-12:]}"]
    return two_lines(row_name(row), " · ".join(filter(None, about)), title=row.job_id)


def _retries(row: PdfJob) -> str:
    return gettext("%(used)s of %(most)s") % {"used": row.retry_count, "most": MAX_RETRIES}


def _took(row: PdfJob) -> str:
    return gettext("%(number)s s") % {"number": number_format(row.seconds, 2)} if row.seconds is not None else "-"


def _code(row: PdfJob) -> str:
    return f"{row.error_code}: {gettext(ErrorCode(row.error_code).label)}" if row.error_code else "-"


def fieldsets(row: PdfJob) -> list[Any]:
    empty = [*([] if row.error_code else [ERROR]), *([] if row.artifact_key else [FILE])]
    return [section for section in FIELDSETS if section not in empty]


def _json(value: Any) -> str:
    text = json.dumps(value, indent=2, ensure_ascii=False, sort_keys=True)
    if len(text) <= LONGEST_SHOWN:
        return text
    beyond = gettext("… %(number)s characters in total") % {"number": number(len(text))}
    return f"{text[:LONGEST_SHOWN]}\n{beyond}"


name = column("name", _("document"), _name)
state = column("state", _("state"), lambda row: state_badge(row.status))
owner = column("owner", _("owner"), lambda row: row.owner.get_username())
retries = column("retries", _("retries"), _retries)
error = column("error", _("error"), lambda row: error_cell(row.error_code, row.error_detail))
size = column("size", _("file"), lambda row: filesizeformat(row.artifact_size) if row.artifact_key else "-")
took = column("took", _("took"), _took)
age = column("age", _("age"), lambda row: since(row.created_at), order="id")
code = column("code", _("error code"), _code)
detail = column(
    "detail", _("details for operators"), lambda row: in_words(row.error_detail) if row.error_detail else "-"
)
key = column("key", _("job key"), lambda row: breakable(row.job_key))
artifact = column("artifact", _("artifact key"), lambda row: breakable(row.artifact_key) or "-")
digest = column("digest", _("artifact digest"), lambda row: breakable(row.artifact_digest) or "-")
variables = column("variables", _("variables"), lambda row: verbatim(_json(row.payload)))
options = column("options", _("options"), lambda row: verbatim(_json(row.options)))
# Columns are functions, so Django does not sort by them, which would read the whole table.
COLUMNS = [name, state, owner, retries, error, size, took, age]
SUMMARY: Any = (None, {"fields": [(state, "template_name"), (owner, retries)]})
ERROR: Any = (_("Error"), {"fields": [code, detail]})
TIMES: Any = (
    _("Times"),
    {"fields": [("created_at", "queued_at"), ("started_at", "finished_at"), (took, "lease_until")]},
)
FILE: Any = (_("File"), {"fields": [(size, artifact), digest]})
REQUEST: Any = (_("Request"), {"classes": ["collapse"], "fields": [key, "timeout", options, variables]})
FIELDSETS: Any = [SUMMARY, ERROR, TIMES, FILE, REQUEST]
READ_ONLY = [field for field in flatten_fieldsets(FIELDSETS) if callable(field)]
