"""The menu *Print* of a cutting job's page, and the pages behind it."""

from contextlib import suppress
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib import admin, messages
from django.contrib.auth.models import AnonymousUser, User
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import get_language, gettext_lazy, gettext_noop
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from config.papers.content import (
    KINDS,
    MOST_PARTS,
    NoAddress,
    PaperKind,
    PaperRefused,
    PaperRequest,
    customer_of,
    invoice_basis,
    offer_basis,
    paper_request,
)
from kilit.api.input_model import InvalidInput
from kilit.console.formatting import page
from kilit.console.jobs.job_page import JobOffer
from kilit.problems.links import list_path
from orchestrator.errors import JobError
from orchestrator.job_links import unreachable_labels
from orchestrator.models import Customer, Job
from orchestrator.planning.rules import current_rules, valid_rules
from orchestrator.schemas.rules import Rules
from orchestrator.states import JobState
from pdfjobs.documents.kinds.labels import MOST_LABELS
from pdfjobs.enqueue import QueueFullError, enqueue
from pdfjobs.models import PdfJob
from pdfjobs.rendering import RenderError
from pdfjobs.states import UNFINISHED, PdfStatus
from pdfjobs.storage.artifacts import StorageUnavailable
from pdfjobs.warnings import MOST_NAMED, missing_characters

REFRESH_AFTER = 1  # seconds
MOST_DOCUMENTS = 10  # that are offered of a paper; more are printed by the API
FORMATS = {
    "70x37": gettext_lazy("70 × 37 mm (A4, 24 a sheet)"),
    "105x57": gettext_lazy("105 × 57 mm (A4, 10 a sheet)"),
    "100x50": gettext_lazy("100 × 50 mm (roll)"),
}
TITLES: dict[PaperKind, Any] = {
    "cutting_sheet": gettext_lazy("Cutting sheet"),
    "offer": gettext_lazy("Offer"),
    "delivery_note": gettext_lazy("Delivery note"),
    "invoice": gettext_lazy("Proforma"),
}


def may_print(user: User | AnonymousUser) -> bool:
    """Printing makes a PDF job, which needs the operator role; viewers see the PDFs that exist."""
    return user.has_perm("orchestrator.view_job") and user.has_perm("pdfjobs.operate_pdfjob")


def papers_of_job(request: HttpRequest, job: Job) -> list[JobOffer]:
    if not may_print(request.user):
        return []
    offers = documents(job, "cutting_sheet", TITLES["cutting_sheet"], total=job.part_count, most=MOST_PARTS)
    rules = valid_rules()
    if "labels" in settings.PDF_TEMPLATES and rules and (unreachable := unreachable_labels(rules)):
        offers.append(JobOffer(unreachable, reverse("admin:orchestrator_rulesversion_changelist")))
    pieces = sum(part["quantity"] for part in job.payload["parts"])
    for name, label in FORMATS.items():
        title = _("Labels %(size)s") % {"size": label}
        offers += documents(job, "labels", title, total=pieces, most=MOST_LABELS, format=name)
    return [*offers, *papers_with_seller(job)]


def documents(job: Job, kind: PaperKind, title: str, *, total: int, most: int, **query: str) -> list[JobOffer]:
    """Offer a paper in one document, or in several with their numbers if one does not take all."""
    if kind not in settings.PDF_TEMPLATES:
        return []
    if total <= most:
        return [offer(job, kind, title, **query)]
    firsts = range(1, total + 1, most)[:MOST_DOCUMENTS]
    spans = [(first, min(first + most - 1, total)) for first in firsts]
    return [offer(job, kind, f"{title}: {first}–{last}", first=first, last=last, **query) for first, last in spans]


def offer(job: Job, kind: PaperKind, title: str, **query: str | int) -> JobOffer:
    address = reverse("console:print", args=[job.pk, kind])
    return JobOffer(title, f"{address}?{urlencode(query)}".removesuffix("?"), is_done_at_once=True)


def papers_with_seller(job: Job) -> list[JobOffer]:
    """Offer what names the seller, if the rules have what it needs: of a job that is done also what goes with it."""
    try:
        rules = current_rules()
        offers = priced_offer(job, "offer", rules)
        if job.status == JobState.DONE and rules.company and not job.is_cut_in_part:  # which pieces, nobody knows
            offers += documents(job, "delivery_note", TITLES["delivery_note"], total=job.part_count, most=MOST_PARTS)
        return offers + (priced_offer(job, "invoice", rules) if job.status == JobState.DONE else [])
    except JobError:
        return []


def priced_offer(job: Job, kind: PaperKind, rules: Rules) -> list[JobOffer]:
    """Offer a paper with amounts; while something is missing, say what, and lead to where it is added."""
    if rules.prices is None or kind not in settings.PDF_TEMPLATES:
        return []
    try:
        (invoice_basis if kind == "invoice" else offer_basis)(job, rules)
    except PaperRefused as refused:
        place = reverse("admin:orchestrator_rulesversion_changelist")
        if isinstance(refused, NoAddress):
            pk = customer_of(job).pk
            place = reverse("admin:orchestrator_customer_change", args=[pk]) if pk else list_path(Customer)
        return [JobOffer(f"{TITLES[kind]}: {refused.translated}", place)]
    return [offer(job, kind, TITLES[kind])]


def print_paper(request: HttpRequest, job_id: UUID, kind: str) -> HttpResponse:
    """Request a paper and lead to it."""
    if not may_print(request.user):
        raise PermissionDenied
    job = get_object_or_404(Job.objects.select_related("customer"), pk=job_id)
    if kind not in KINDS or kind not in settings.PDF_TEMPLATES:
        raise Http404
    if request.method == "POST":  # after a login it is not
        try:
            made = request_pdf(request.user, job, kind, request.GET.dict())
            return HttpResponseRedirect(f"{reverse('console:paper', args=[made.pk])}?{urlencode({'job': str(job.pk)})}")
        except PaperRefused as refused:
            messages.error(request, refused.translated)
    return HttpResponseRedirect(reverse("admin:orchestrator_job_change", args=[job.pk]))


def request_pdf(user: Any, job: Job, kind: PaperKind, query: dict[str, str]) -> PdfJob:
    """Return the PDF job that makes a paper, in the language of the console."""
    chosen = {name: int(value) if value.isdecimal() and len(value) < 10 else value for name, value in query.items()}
    try:
        paper = PaperRequest.read({**chosen, "locale": "tr" if get_language() == "tr" else "en"})
        made, _is_new = enqueue(user, paper_request(job, kind, paper))
    except InvalidInput:  # only if somebody changed the address
        raise Http404 from None
    except (QueueFullError, RenderError, StorageUnavailable):
        raise PaperRefused(gettext_noop("The PDF queue takes no jobs right now: look at it, then try again.")) from None
    return made


def job_of(text: str) -> UUID | None:
    with suppress(ValueError):
        return UUID(text)
    return None


@never_cache
@require_safe
def show_paper(request: HttpRequest, pdf_id: UUID) -> HttpResponse:
    """Open a PDF when it is ready; until then wait, and look again every second.

    A PDF with boxes for missing characters is opened on its job's page, which says so: somebody is about to print it.
    """
    if not request.user.has_perm("pdfjobs.view_pdfjob"):
        raise PermissionDenied
    pdf = get_object_or_404(PdfJob, pk=pdf_id)
    missing = missing_characters(pdf)
    if pdf.status == PdfStatus.SUCCEEDED and not missing:
        return HttpResponseRedirect(reverse("admin:pdfjobs_pdfjob_file", args=[pdf.pk]))
    if pdf.status not in UNFINISHED:
        return HttpResponseRedirect(reverse("admin:pdfjobs_pdfjob_change", args=[pdf.pk]))
    response = page(
        admin.site.get_model_admin(PdfJob),
        request,
        "admin/pdfjobs/waiting.html",
        title=_("The PDF is being made"),
        job=job_of(request.GET.get("job", "")),  # a browser that downloads a PDF stays on the page
        missing_characters=missing[:MOST_NAMED],
        pdf_href=reverse("admin:pdfjobs_pdfjob_change", args=[pdf.pk]),
        original=pdf,
    )
    response.headers["Refresh"] = str(REFRESH_AFTER)
    return response
