"""PDF jobs in the console."""

import json
from collections.abc import Iterator
from datetime import timedelta

from django.conf import settings
from django.contrib import admin, messages
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.template.defaultfilters import filesizeformat
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import number_format
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.clickjacking import xframe_options_sameorigin

from kilit.console.formatting import (
    breakable,
    column,
    duration,
    joined,
    number,
    two_lines,
    verbatim,
    with_copy_button,
)
from kilit.console.jobs.job_page import JobDescription, JobOffer
from kilit.console.jobs.states import States
from kilit.console.jobs.timeline import Story
from kilit.console.lists.acting import back_to_row
from kilit.console.lists.actions import Action
from kilit.console.lists.listing import RowPage
from kilit.console.menu import MenuItem
from kilit.console.queue_admin import QueueAdmin
from kilit.lock.models import Activity, ActivityKind
from kilit.machine_errors import in_words
from kilit.masking import mask_personal_data
from kilit.problems.blockers import lease_holdings
from kilit.spans import moment
from pdfjobs import operations
from pdfjobs.blockers import reasons
from pdfjobs.enqueue import expire_changed
from pdfjobs.file_response import ArtifactChangedError, file_response
from pdfjobs.links import LINK_CREATED, DeadLinkError, create_link
from pdfjobs.models import PdfJob
from pdfjobs.models.job import PdfJobQuerySet
from pdfjobs.queue import QUEUE
from pdfjobs.rendering import sandbox_warning
from pdfjobs.states import CALLBACK_REQUESTED, FILE_CHANGED, MAX_RETRIES, PDF_JOBS, WAITING, PdfStatus
from pdfjobs.storage.artifacts import StorageUnavailable
from pdfjobs.warnings import MOST_NAMED, missing_characters

LONGEST_SHOWN = 20_000
STATES = States(PDF_JOBS, colours={PdfStatus.EXPIRED: ""})


def row_name(row: PdfJob) -> str:
    return row.document_number or row.template_name


def _name(row: PdfJob) -> SafeString:
    details = [row.recipient, row.template_name] if row.document_number else [f"…{row.job_id[-12:]}"]
    return two_lines(row_name(row), " · ".join(filter(None, details)), title=row.job_id)


def _took(row: PdfJob) -> str:
    return _("%(number)s s") % {"number": number_format(row.seconds, 2)} if row.seconds is not None else "-"


def _json(value: object) -> SafeString:
    text = json.dumps(value, indent=2, ensure_ascii=False, sort_keys=True)
    if len(text) <= LONGEST_SHOWN:
        return verbatim(text)
    beyond = _("… %(number)s characters in total") % {"number": number(len(text))}
    return verbatim(f"{text[:LONGEST_SHOWN]}\n{beyond}")


name = column("name", gettext_lazy("document"), _name)
owner = column("owner", gettext_lazy("owner"), lambda row: row.owner.get_username())
retries = column(
    "retries",
    gettext_lazy("retries"),
    lambda row: _("%(used)s of %(most)s") % {"used": row.retry_count, "most": MAX_RETRIES},
)
size = column(
    "size",
    gettext_lazy("file"),
    lambda row: filesizeformat(row.artifact_size) if row.artifact_key else "-",
    sort_key=lambda row: row.artifact_size or 0,
)
took = column("took", gettext_lazy("took"), _took, sort_key=lambda row: row.seconds or 0)
detail = column("error_detail", gettext_lazy("details for operators"), lambda row: in_words(row.error_detail) or "-")
key = column("key", gettext_lazy("job key"), lambda row: breakable(row.job_key))
timeout = column("timeout", gettext_lazy("timeout"), lambda row: duration(row.timeout))
artifact = column("artifact", gettext_lazy("artifact key"), lambda row: breakable(row.artifact_key) or "-")
digest = column("digest", gettext_lazy("artifact digest"), lambda row: breakable(row.artifact_digest) or "-")
STORY = Story(
    {
        "JOB_CREATED": gettext_lazy("Requested by %(who)s"),
        "succeed": gettext_lazy("Rendered by %(who)s"),
        "retry": gettext_lazy("Queued again automatically"),
        "expire": gettext_lazy("Expired by %(who)s"),
        CALLBACK_REQUESTED: gettext_lazy("Callback requested by %(who)s"),
        LINK_CREATED: gettext_lazy("Link created by %(who)s"),
        FILE_CHANGED: gettext_lazy("Changed file found by %(who)s"),
    },
    attempts="retry_count",
    first_attempt=0,
)
LIVES = {
    "hour": (timedelta(hours=1), gettext_lazy("for 1 hour")),
    "day": (timedelta(days=1), gettext_lazy("for 1 day")),
    "week": (timedelta(days=7), gettext_lazy("for 7 days")),
}
LONGEST = timedelta(days=7)
UNTIL_DELETED = "file"
RETRY = Action(
    operations.RETRY,
    title=gettext_lazy("Retry"),
    done=gettext_lazy("Retried"),
    effect=gettext_lazy(
        "They are queued again with two retries. A job is skipped if its document was requested again."
    ),
    is_done_at_once=True,
    undo="undo_retry",
)
EXPIRE = Action(
    operations.EXPIRE,
    title=gettext_lazy("Expire"),
    done=gettext_lazy("Expired"),
    effect=gettext_lazy("Their files and variables are deleted for good. A new request creates a new job."),
    is_dangerous=True,
)
# Without the variables, which may contain personal data.


def choose_primary(row: PdfJob, _offers: object) -> JobOffer | None:
    if row.status != PdfStatus.SUCCEEDED:
        return None
    href = reverse("admin:pdfjobs_pdfjob_file", args=[row.pk])
    return JobOffer(gettext_lazy("Download the PDF"), f"{href}?download")


def choices(row: PdfJob) -> Iterator[tuple[str, object]]:
    """Return how long a link may work: the spans that the file outlives, or as long as the file is kept."""
    if row.status != PdfStatus.SUCCEEDED or row.finished_at is None:
        return
    left = row.finished_at + settings.PDF_TTL - timezone.now()
    yield from ((name, label) for name, (life, label) in LIVES.items() if life < left)
    if timedelta(0) < left < LONGEST:
        yield UNTIL_DELETED, _("until the PDF is deleted")


def page_context(request: HttpRequest, row: PdfJob) -> dict[str, object]:
    has_file = row.status == PdfStatus.SUCCEEDED
    request_parts = [(_("Variables"), _json(row.payload)), (_("Options"), _json(row.options))]
    return {
        "missing_characters": missing_characters(row)[:MOST_NAMED],
        "request_parts": request_parts if row.status != PdfStatus.EXPIRED else [],
        "file_url": reverse("admin:pdfjobs_pdfjob_file", args=[row.pk]) if has_file else "",
        "link_choices": list(choices(row)) if QUEUE.may_act(request.user) else [],
        "link_href": reverse("admin:pdfjobs_pdfjob_link", args=[row.pk]),
    }


@xframe_options_sameorigin
def file_page(_model_admin: QueueAdmin, request: HttpRequest, row: PdfJob) -> HttpResponseBase:
    if row.status != PdfStatus.SUCCEEDED:
        raise Http404
    try:
        return file_response(request, row, as_attachment="download" in request.GET)
    except (FileNotFoundError, StorageUnavailable):
        text = _("The file does not exist.")
    except ArtifactChangedError:
        expire_changed(row)
        text = _("The file was changed after it was stored, so it is not shown. The job is expired.")
    return HttpResponse(text, status=410, content_type="text/plain; charset=utf-8")


def link_page(model_admin: QueueAdmin, request: HttpRequest, row: PdfJob) -> HttpResponse:
    if request.method == "POST":  # logging in again leads here without the form
        life, _label = LIVES.get(request.POST.get("life", ""), (LONGEST, ""))
        try:
            _show_link(request, row, life)
        except DeadLinkError:
            messages.warning(request, _("No link was created: there is no PDF, or it is about to be deleted."))
    return back_to_row(model_admin, request, row)


@transaction.atomic
def _show_link(request: HttpRequest, row: PdfJob, life: timedelta) -> None:
    link = create_link(row, life=life)
    Activity.objects.record(ActivityKind.ACTION, LINK_CREATED, queue=PDF_JOBS.queue, object_id=row.job_id)
    sentence = _("Everyone who has this link can download the PDF until %(time)s:") % {"time": moment(link.expires_at)}
    url = request.build_absolute_uri(reverse("pdf-link", args=[link.token]))
    messages.success(request, with_copy_button(sentence, url, what=_("the link")))


@admin.register(PdfJob)
class PdfJobAdmin(QueueAdmin):
    menu = MenuItem(gettext_lazy("PDFs"), "picture_as_pdf", 30)
    queue = QUEUE
    actions = (RETRY, EXPIRE)
    page = JobDescription(
        states=STATES,
        story=STORY,
        name=row_name,
        belongs_to=lambda row: joined(row.recipient, row.document_number and row.template_name, str(row.owner)),
        blockers=reasons,
        holdings=lease_holdings,
        choose_primary=choose_primary,
        copied_fields={"document_number": "document_number", "key": "job_key"},
        priority_states=WAITING,
        more_template="admin/pdfjobs/preview.html",
        context=page_context,
    )
    pause_title = gettext_lazy("Pause the PDF queue?")
    pause_effect = gettext_lazy(
        "No job is started until you resume it. Jobs that are being rendered finish; new ones wait."
    )

    # Columns are functions, so Django does not sort by them, which would read the whole table.
    list_display = [name, "state", owner, retries, "error", size, took, "age"]
    list_select_related = ["owner"]
    list_before_template = "admin/pdfjobs/sandbox.html"
    row_pages = {"file": RowPage(file_page), "link": RowPage(link_page, "operate")}
    search_help_text = gettext_lazy("Number, recipient or owner: the first letters are enough")
    fieldsets = [
        (None, {"fields": ["document_number", "recipient", "template_name", owner, retries]}),
        (gettext_lazy("Error"), {"fields": ["error_code", detail]}),
        (gettext_lazy("Times"), {"fields": ["created_at", "queued_at", "started_at", "finished_at", took]}),
        (gettext_lazy("File"), {"fields": [size, artifact, digest]}),
        (gettext_lazy("Request"), {"fields": [key, timeout]}),
    ]
    export_fields = {
        "id": "job_id",
        "owner": "owner.username",
        "template": "template_name",
        "jobKey": "job_key",
        "retries": "retry_count",
        "errorCode": "error_code",
        "errorDetail": "error_detail",
        "createdAt": "created_at",
        "failedAt": "finished_at",
    }
    export_masks = {"errorDetail": mask_personal_data}
    oldest_means = gettext_lazy("How long the oldest waiting job has been queued.")
    chart_note = gettext_lazy("Every failed attempt counts, even if the job was retried.")

    def get_queryset(self, request: HttpRequest) -> PdfJobQuerySet:
        jobs: PdfJobQuerySet = super().get_queryset(request)
        return jobs.defer("payload", "options")  # megabytes, which only a job's page shows

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, object] | None = None) -> HttpResponse:
        return super().changelist_view(request, {"sandbox_warning": sandbox_warning(), **(extra_context or {})})
