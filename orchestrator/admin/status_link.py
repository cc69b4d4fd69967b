"""The page on which an operator makes or withdraws the link for an order's customer."""

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import AnonymousUser, User
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext as _

from kilit.console.formatting import with_copy_button
from kilit.console.jobs.job_page import JobOffer, Offers
from kilit.console.queue_admin import QueueAdmin
from orchestrator.models import Job
from orchestrator.status_links import create_link, token_of, withdraw_link


def link_page(model_admin: QueueAdmin, request: HttpRequest, job: Job) -> HttpResponse:
    if request.method == "POST" and request.POST.get("number") == str(job.status_link):  # as the page was shown
        if job.status_link > 0:
            withdraw_link(job)
            messages.success(request, _("The link no longer works."))
        else:
            create_link(job)
        return HttpResponseRedirect(request.path)
    sentences: list[object] = [_("Who has it sees how far this order is and when it is due: no prices, nothing else.")]
    if token := token_of(job):
        url = f"{settings.PUBLIC_URL}{reverse('order-status', args=[token])}"
        sentences.append(with_copy_button("", url, what=_("the link")))
    return model_admin.confirm(
        request,
        job,
        title=_("Link for the customer of order %(order)s") % {"order": job.order_id},
        sentences=sentences,
        kept={"number": job.status_link},
        submit=_("Withdraw the link") if token else _("Make a link"),
        is_dangerous=bool(token),
        back_label=_("Back"),
    )


def offer_link(job: Job, offers: Offers, _user: User | AnonymousUser) -> Offers:
    """Offer it where customers reach the server over https."""
    if not settings.PUBLIC_URL.startswith("https://"):
        return offers
    href = reverse("admin:orchestrator_job_status_link", args=[job.pk])
    return {**offers, "status_link": JobOffer(_("Link for the customer"), href)}
