"""The pages on which an operator makes or withdraws the link for an order's customer, and that of its labels."""

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import AnonymousUser, User
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext as _

from kilit.console.formatting import with_copy_button
from kilit.console.jobs.job_page import JobOffer, Offers
from kilit.console.queue_admin import QueueAdmin
from orchestrator.job_links import PIECE_LINK, STATUS_LINK, JobLink
from orchestrator.models import Job


def status_link_page(model_admin: QueueAdmin, request: HttpRequest, job: Job) -> HttpResponse:
    sentences: list[object] = [_("Who has it sees how far this order is and when it is due: no prices, nothing else.")]
    title = _("Link for the customer of order %(order)s") % {"order": job.order_id}
    if not (response := _changed(request, job, STATUS_LINK)) and (url := STATUS_LINK.url_of(job)):
        sentences.append(with_copy_button("", url, what=_("the link")))
    return response or _confirm(model_admin, request, job, STATUS_LINK, title=title, sentences=sentences)


def piece_link_page(model_admin: QueueAdmin, request: HttpRequest, job: Job) -> HttpResponse:
    sentences: list[object] = [
        _("Who scans a label of this order sees that piece, and records what was done to it."),
        _("Without the link, labels that are printed open no page. Printing them again makes another link."),
    ]
    title = _("Link on the labels of order %(order)s") % {"order": job.order_id}
    response = _changed(request, job, PIECE_LINK)
    return response or _confirm(model_admin, request, job, PIECE_LINK, title=title, sentences=sentences)


def _changed(request: HttpRequest, job: Job, link: JobLink) -> HttpResponse | None:
    """Make or withdraw the link, if that was clicked on the page as it is now."""
    if request.method != "POST" or request.POST.get("number") != str(link.number_of(job)):
        return None
    if link.number_of(job) > 0:
        link.withdraw(job)
        messages.success(request, _("The link no longer works."))
    else:
        link.create(job)
    return HttpResponseRedirect(request.path)


def _confirm(
    model_admin: QueueAdmin, request: HttpRequest, job: Job, link: JobLink, **texts: str | list[object]
) -> HttpResponse:
    has_link = link.number_of(job) > 0
    return model_admin.confirm(
        request,
        job,
        **texts,
        kept={"number": link.number_of(job)},
        submit=_("Withdraw the link") if has_link else _("Make a link"),
        is_dangerous=has_link,
        back_label=_("Back"),
    )


def offer_links(job: Job, offers: Offers, _user: User | AnonymousUser) -> Offers:
    """Offer the customer's where customers reach the server over https, and that of labels once some were printed."""
    offered = dict(offers)
    if settings.PUBLIC_URL.startswith("https://"):
        href = reverse("admin:orchestrator_job_status_link", args=[job.pk])
        offered["status_link"] = JobOffer(_("Link for the customer"), href)
    if job.piece_link:
        offered["piece_link"] = JobOffer(
            _("Link on the labels"), reverse("admin:orchestrator_job_piece_link", args=[job.pk])
        )
    return offered
