"""What customers see on the link to their order: how far it is, in plain words, in the language of their browser."""

from collections.abc import Callable
from functools import wraps

from django.conf import settings
from django.core.signing import BadSignature
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.translation import get_language_from_request, gettext_lazy, override
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from kilit.access.authentication import GuessThrottle, count_wrong_guess
from kilit.api.errors import error_page
from orchestrator.figures.in_words import totals
from orchestrator.figures.job_figures import figures_of
from orchestrator.job_links import STATUS_LINK, JobLink, WithdrawnLink
from orchestrator.models import Job
from orchestrator.planning.rules import valid_rules
from orchestrator.states import OPEN, JobState

PREPARING = gettext_lazy("We have received your order and are preparing it.")
WORDS = {
    JobState.XML_READY: gettext_lazy("Your order is planned and is cut next."),
    JobState.DELIVERED: gettext_lazy("Your order is being cut."),
    JobState.DONE: gettext_lazy("Your order has been cut."),
    JobState.FAILED: gettext_lazy("Please ask us about your order."),
}
# Keeps the link out of caches, search engines and the logs of other sites.
HEADERS = {
    "Cache-Control": "private, no-store",
    "Referrer-Policy": "no-referrer",
    "X-Robots-Tag": "noindex, nofollow, noarchive",
}
View = Callable[..., HttpResponse]


def opened_by(link: JobLink, *fields: str) -> Callable[[View], View]:
    """Let a page be opened by the link to its job, which is read with these fields, in the language of the browser."""

    def with_link(page: View) -> View:
        @wraps(page)
        def view(request: HttpRequest, token: str, **place: int) -> HttpResponse:
            with override(get_language_from_request(request)), timezone.override(settings.SHOP_TIME_ZONE):
                job = _job_or_refusal(request, link, token, *fields)
                response = page(request, job, **place) if isinstance(job, Job) else job
            for name, value in HEADERS.items():
                response[name] = value
            return response

        return view

    return with_link


def _job_or_refusal(request: HttpRequest, link: JobLink, token: str, *fields: str) -> Job | HttpResponse:
    if not GuessThrottle().allow_request(request, None):
        return error_page(429, _("Too many links that do not exist were tried. Try later."), is_console=False)
    try:
        return link.job_of(token, *fields)
    except BadSignature:
        count_wrong_guess(request)
        return error_page(404, _("There is no such link."), is_console=False)
    except WithdrawnLink:
        return error_page(410, _("This link no longer works. Ask its sender for a new one."), is_console=False)


@require_safe
@opened_by(STATUS_LINK, "due_on", "updated_at", "status_link_prices")
def status_page(_request: HttpRequest, job: Job) -> HttpResponse:
    rules, words = valid_rules(), str(WORDS.get(JobState(job.status), PREPARING))
    if job.is_cut_in_part:
        words = _("A part of your order was cut; the rest was cancelled.")
    context = {
        "job": job,
        "words": _("Your order was cancelled.") if job.is_cancelled else words,
        "totals": _totals(job) if job.status_link_prices and not job.is_cancelled else [],
        "due_on": job.due_on if job.status in OPEN else None,
        "company": rules.company if rules else None,
    }
    return HttpResponse(render_to_string("orchestrator/status.html", context))


def _totals(job: Job) -> list[tuple[str, str]]:
    """Return what the order costs; nothing while a price or a figure is missing."""
    figures = figures_of(Job.objects.get(pk=job.pk))
    return list(totals(figures.amounts)) if figures and figures.amounts else []
