"""Columns and fields of a PDF job in the console."""

import json
from typing import Any

from django.contrib.admin import display
from django.contrib.admin.utils import flatten_fieldsets
from django.template.defaultfilters import filesizeformat
from django.utils.formats import number_format
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from kilit.console.formatting import breakable, code_badge, error_cell, number, since, two_lines, verbatim
from pdfjobs.models import PdfJob
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


@display(description=_("job"))
def name(row: PdfJob) -> SafeString:
    return two_lines(row.template_name, f"…{row.job_id[-12:]}", title=row.job_id)


@display(description=_("state"))
def state(row: PdfJob) -> SafeString:
    return state_badge(row.status)


@display(description=_("owner"))
def owner(row: PdfJob) -> str:
    return str(row.owner.get_username())


@display(description=_("retries"))
def retries(row: PdfJob) -> str:
    return gettext("%(used)s of %(most)s") % {"used": row.retry_count, "most": MAX_RETRIES}


@display(description=_("error"))
def error(row: PdfJob) -> SafeString | str:
    return error_cell(row.error_code, row.error_detail)


@display(description=_("file"))
def size(row: PdfJob) -> str:
    return filesizeformat(row.artifact_size or 0) if row.artifact_key else "-"


@display(description=_("took"))
def took(row: PdfJob) -> str:
    return gettext("%(number)s s") % {"number": number_format(row.seconds, 2)} if row.seconds is not None else "-"


@display(description=_("age"))
def age(row: PdfJob) -> SafeString:
    return since(row.created_at)


def remedy(row: PdfJob) -> str:
    code = ErrorCode(row.error_code)
    used_up = gettext("All automatic retries failed.") + " " if code.retryable else ""
    return f"{used_up}{REMEDIES[code]}"


@display(description=_("error code"))
def code(row: PdfJob) -> str:
    return f"{row.error_code}: {gettext(ErrorCode(row.error_code).label)}" if row.error_code else "-"


@display(description=_("details for operators"))
def detail(row: PdfJob) -> SafeString | str:
    return verbatim(row.error_detail) if row.error_detail else "-"


@display(description=_("job key"))
def key(row: PdfJob) -> SafeString:
    return breakable(row.job_key)


@display(description=_("artifact key"))
def artifact(row: PdfJob) -> SafeString | str:
    return breakable(row.artifact_key) if row.artifact_key else "-"


@display(description=_("artifact digest"))
def digest(row: PdfJob) -> SafeString | str:
    return breakable(row.artifact_digest) if row.artifact_digest else "-"


@display(description=_("variables"))
def variables(row: PdfJob) -> SafeString:
    return verbatim(_json(row.payload))


@display(description=_("options"))
def options(row: PdfJob) -> SafeString:
    return verbatim(_json(row.options))


def fieldsets(row: PdfJob) -> list[Any]:
    empty = [ERROR] if not row.error_code else []
    empty += [FILE] if not row.artifact_key else []
    return [section for section in FIELDSETS if section not in empty]


def _json(value: Any) -> str:
    text = json.dumps(value, indent=2, ensure_ascii=False, sort_keys=True)
    if len(text) <= LONGEST_SHOWN:
        return text
    beyond = gettext("… %(number)s characters in total") % {"number": number(len(text))}
    return f"{text[:LONGEST_SHOWN]}\n{beyond}"


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
