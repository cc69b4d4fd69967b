"""The menu *Print* of a cutting job's page, and the pages behind it."""

from typing import Any
from uuid import UUID

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.contrib.auth.models import AnonymousUser, User
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.translation import get_language, gettext_lazy, gettext_noop
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from unfold.widgets import UnfoldAdminIntegerFieldWidget, UnfoldAdminSelectWidget

from config.papers.content import (
    KINDS,
    MOST_PARTS,
    PaperKind,
    PaperRefused,
    PaperRequest,
    RangeTooLarge,
    offer_basis,
    paper_request,
    piece_count,
)
from kilit.api.input_model import InvalidInput
from kilit.console.formatting import page
from kilit.console.jobs.job_page import JobOffer
from kilit.console.lists.confirming import confirm_page
from orchestrator.errors import JobError
from orchestrator.models import Job
from orchestrator.orders.order import order_from
from orchestrator.planning.rules import current_rules
from pdfjobs.documents.kinds.labels import MOST_LABELS
from pdfjobs.enqueue import QueueFullError, enqueue
from pdfjobs.models import PdfJob
from pdfjobs.rendering import RenderError
from pdfjobs.states import UNFINISHED, PdfStatus
from pdfjobs.storage.artifacts import StorageUnavailable
from pdfjobs.warnings import MOST_NAMED, missing_characters

REFRESH_AFTER = 1  # seconds
FORMATS = {
    "70x37": gettext_lazy("70 × 37 mm (A4, 24 a sheet)"),
    "105x57": gettext_lazy("105 × 57 mm (A4, 10 a sheet)"),
    "100x50": gettext_lazy("100 × 50 mm (roll)"),
}
TITLES: dict[PaperKind, Any] = {
    "cutting_sheet": gettext_lazy("Cutting sheet"),
    "labels": gettext_lazy("Labels"),
    "offer": gettext_lazy("Offer"),
}


class PaperForm(forms.Form):
    """Which labels, or which parts of a cutting sheet."""

    format = forms.ChoiceField(
        label=gettext_lazy("Size of a label"), choices=list(FORMATS.items()), widget=UnfoldAdminSelectWidget
    )
    first = forms.IntegerField(label=gettext_lazy("From number"), min_value=1, widget=UnfoldAdminIntegerFieldWidget)
    last = forms.IntegerField(label=gettext_lazy("To number"), min_value=1, widget=UnfoldAdminIntegerFieldWidget)

    def __init__(self, kind: PaperKind, total: int, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        if kind == "labels":
            most, label = MOST_LABELS, _("This job has %(total)s labels; a document takes %(most)s.")
        else:
            most, label = MOST_PARTS, _("This job has %(total)s parts; a document takes %(most)s.")
            del self.fields["format"]
        self.initial = {"first": 1, "last": min(total, most), **self.initial}
        self.fields["last"].help_text = label % {"total": total, "most": most}


def may_print(user: User | AnonymousUser) -> bool:
    """Printing makes a PDF job, which needs the operator role; viewers see the PDFs that exist."""
    return user.has_perm("orchestrator.view_job") and user.has_perm("pdfjobs.operate_pdfjob")


def papers_of_job(request: HttpRequest, job: Job) -> list[JobOffer]:
    if not may_print(request.user):
        return []
    offers = []
    if "cutting_sheet" in settings.PDF_TEMPLATES:
        offers.append(JobOffer(TITLES["cutting_sheet"], address(job, "cutting_sheet"), is_done_at_once=True))
    if "labels" in settings.PDF_TEMPLATES:
        href = address(job, "labels")
        offers += [
            JobOffer(_("Labels %(size)s") % {"size": label}, f"{href}?format={name}", is_done_at_once=True)
            for name, label in FORMATS.items()
        ]
        offers.append(JobOffer(_("Some of the labels…"), href))
    if "offer" in settings.PDF_TEMPLATES:
        offers += offer_of_job(job)
    return offers


def offer_of_job(job: Job) -> list[JobOffer]:
    """Offer the offer if the rules have prices; while something else is missing, say what, and lead to the rules."""
    try:
        rules = current_rules()
        if rules.prices is None:
            return []
        offer_basis(job, rules)
    except JobError:
        return []
    except PaperRefused as refused:
        title = _("Offer: %(missing)s") % {"missing": refused.translated}
        return [JobOffer(title, reverse("admin:orchestrator_rulesversion_changelist"))]
    return [JobOffer(TITLES["offer"], address(job, "offer"), is_done_at_once=True)]


def address(job: Job, kind: PaperKind) -> str:
    return reverse("console:print", args=[job.pk, kind])


def print_paper(request: HttpRequest, job_id: UUID, kind: str) -> HttpResponse:
    """Request a paper and lead to it. If it is too large for a document, or only asked for, ask for a range."""
    if not may_print(request.user):
        raise PermissionDenied
    job = get_object_or_404(Job.objects.select_related("customer"), pk=job_id)
    if kind not in KINDS or kind not in settings.PDF_TEMPLATES:
        raise Http404
    is_range = "first" in request.POST
    total = piece_count(order_from(job.payload)) if kind == "labels" else job.part_count
    form = PaperForm(kind, total, request.POST if is_range else None, initial=request.GET.dict())
    if request.method != "POST" or (is_range and not form.is_valid()):
        return ask(request, job, kind, form)
    chosen = form.cleaned_data if is_range else request.GET.dict()
    try:
        made = request_pdf(request.user, job, kind, chosen)
    except RangeTooLarge as refused:
        messages.warning(request, refused.translated)
        return ask(request, job, kind, form)
    except PaperRefused as refused:
        messages.error(request, refused.translated)
        return HttpResponseRedirect(reverse("admin:orchestrator_job_change", args=[job.pk]))
    return HttpResponseRedirect(reverse("console:paper", args=[made.pk]))


def ask(request: HttpRequest, job: Job, kind: PaperKind, form: PaperForm) -> HttpResponse:
    return confirm_page(
        admin.site.get_model_admin(Job),
        request,
        title=TITLES[kind],
        form=form,
        submit=_("Print"),
        back=reverse("admin:orchestrator_job_change", args=[job.pk]),
        original=job,
    )


def request_pdf(user: Any, job: Job, kind: PaperKind, chosen: dict[str, Any]) -> PdfJob:
    """Return the PDF job that makes a paper, in the language of the console."""
    try:
        paper = PaperRequest.read({**chosen, "locale": "tr" if get_language() == "tr" else "en"})
        made, _is_new = enqueue(user, paper_request(job, kind, paper))
    except InvalidInput:  # only if somebody changed the address
        raise Http404 from None
    except (QueueFullError, RenderError, StorageUnavailable):
        raise PaperRefused(gettext_noop("The PDF queue takes no jobs right now: look at it, then try again.")) from None
    return made


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
        missing_characters=missing[:MOST_NAMED],
        pdf_href=reverse("admin:pdfjobs_pdfjob_change", args=[pdf.pk]),
        original=pdf,
    )
    response.headers["Refresh"] = str(REFRESH_AFTER)
    return response
