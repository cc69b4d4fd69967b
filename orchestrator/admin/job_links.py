"""The pages on which an operator makes or withdraws a link to an order: for its customer, or on its labels."""

from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.models import AnonymousUser, User
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.widgets import UnfoldBooleanWidget

from kilit.console.formatting import with_copy_button
from kilit.console.jobs.job_page import JobOffer, Offers
from kilit.console.queue_admin import QueueAdmin
from orchestrator.job_links import PIECE_LINK, STATUS_LINK, JobLink, reaches_customers
from orchestrator.models import Job
from orchestrator.planning.rules import valid_rules


class PricesForm(forms.Form):
    prices = forms.BooleanField(label=gettext_lazy("With the amounts"), required=False, widget=UnfoldBooleanWidget)


def status_link_page(model_admin: QueueAdmin, request: HttpRequest, job: Job) -> HttpResponse:
    if response := _changed(request, job, STATUS_LINK, status_link_prices="prices" in request.POST):
        return response
    shown, form = _("Who has it sees how far this order is and when it is due: no prices, nothing else."), None
    if (url := STATUS_LINK.url_of(job)) and job.status_link_prices:
        shown = _("Who has it sees how far this order is, when it is due, and what it costs: nothing else.")
    elif not url and (rules := valid_rules()) and rules.prices:
        shown = _("Who has it sees how far this order is and when it is due, and nothing else.")
        form = PricesForm()
    return _confirm(
        model_admin,
        request,
        job,
        STATUS_LINK,
        title=_("Link for the customer of order %(order)s") % {"order": job.order_id},
        sentences=[shown, with_copy_button("", url, what=_("the link"))] if url else [shown],
        form=form,
    )


def piece_link_page(model_admin: QueueAdmin, request: HttpRequest, job: Job) -> HttpResponse:
    sentences: list[object] = [
        _("Who scans a label of this order sees that piece, and records what was done to it."),
        _("Without the link, labels that are printed open no page. Printing them again makes another link."),
    ]
    title = _("Link on the labels of order %(order)s") % {"order": job.order_id}
    response = _changed(request, job, PIECE_LINK)
    return response or _confirm(model_admin, request, job, PIECE_LINK, title=title, sentences=sentences)


def _changed(request: HttpRequest, job: Job, link: JobLink, **columns: bool) -> HttpResponse | None:
    """Make or withdraw the link, if that was clicked on the page as it is now."""
    if request.method != "POST" or request.POST.get("number") != str(link.number_of(job)):
        return None
    if link.number_of(job) > 0:
        link.withdraw(job)
        messages.success(request, _("The link no longer works."))
    else:
        link.create(job, **columns)
    return HttpResponseRedirect(request.path)


def _confirm(model_admin: QueueAdmin, request: HttpRequest, job: Job, link: JobLink, **context: Any) -> HttpResponse:
    has_link = link.number_of(job) > 0
    return model_admin.confirm(
        request,
        job,
        **context,
        kept={"number": link.number_of(job)},
        submit=_("Withdraw the link") if has_link else _("Make a link"),
        is_dangerous=has_link,
        back_label=_("Back"),
    )


def offer_links(job: Job, offers: Offers, _user: User | AnonymousUser) -> Offers:
    """Offer the customer's link if customers reach the server, and the labels' link once labels were printed."""
    offered = dict(offers)
    if reaches_customers():
        href = reverse("admin:orchestrator_job_status_link", args=[job.pk])
        offered["status_link"] = JobOffer(_("Link for the customer"), href)
    if job.piece_link:
        offered["piece_link"] = JobOffer(
            _("Link on the labels"), reverse("admin:orchestrator_job_piece_link", args=[job.pk])
        )
    return offered
