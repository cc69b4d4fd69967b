"""What a PDF job's page calls its states and its events, and which action stands out."""

from collections.abc import Mapping

from django.urls import reverse
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from kilit.console.dashboard.queue_pauses import PAUSE_SENTENCES
from kilit.console.formatting import joined
from kilit.console.jobs.job_page import JobDescription, JobOffer
from kilit.console.jobs.priorities import PRIORITY_SENTENCES
from kilit.console.jobs.timeline import Story
from pdfjobs.admin.columns import retry_can_help
from pdfjobs.links import LINK_CREATED
from pdfjobs.models import PdfJob
from pdfjobs.states import CALLBACK_REQUESTED, FILE_CHANGED, ErrorCode, PdfStatus

LABELS = {
    PdfStatus.QUEUED: _("Waiting"),
    PdfStatus.RUNNING: _("Being rendered"),
    PdfStatus.SUCCEEDED: _("Ready"),
    PdfStatus.FAILED: _("Failed"),
    PdfStatus.EXPIRED: _("Expired"),
}
STORY = Story(
    {
        "JOB_CREATED": _("Requested by %(who)s"),
        "claim": _("Claimed by %(who)s"),
        "succeed": _("Rendered by %(who)s"),
        "fail": _("Failed, as reported by %(who)s"),
        "retry": _("Queued again automatically"),
        "retry_selected": _("Retried by %(who)s"),
        "undo_retry": _("Retry taken back by %(who)s"),
        **PRIORITY_SENTENCES,
        **PAUSE_SENTENCES,
        "expire": _("Expired by %(who)s"),
        CALLBACK_REQUESTED: _("Callback requested by %(who)s"),
        LINK_CREATED: _("Link created by %(who)s"),
        FILE_CHANGED: _("Changed file found by %(who)s"),
    },
    attempts="retry_count",
    first_attempt=0,
)


def belongs_to(row: PdfJob) -> SafeString:
    return joined(row.recipient, row.template_name if row.document_number else "", row.owner.get_username())


def explain_error(row: PdfJob) -> str:
    return gettext(ErrorCode(row.error_code).label)


def choose_primary(row: PdfJob, offers: Mapping[str, JobOffer]) -> JobOffer | None:
    if row.status == PdfStatus.SUCCEEDED:
        href = reverse("admin:pdfjobs_pdfjob_file", args=[row.pk])
        return JobOffer(_("Download the PDF"), "download", f"{href}?download")
    return offers.get("retry") if retry_can_help(row) else None


PDF_JOB = JobDescription(
    belongs_to=belongs_to,
    state_labels=LABELS,
    way=(PdfStatus.QUEUED, PdfStatus.RUNNING, PdfStatus.SUCCEEDED),
    story=STORY,
    explain_error=explain_error,
    choose_primary=choose_primary,
    copied_fields={"document_number": "document_number", "key": "job_key"},
)
