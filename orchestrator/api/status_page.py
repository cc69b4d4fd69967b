"""What customers see on the link to their order: how far it is, in plain words, in the language of their browser."""

from django.core.signing import BadSignature
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils.translation import get_language_from_request, gettext_lazy, override
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from kilit.access.authentication import GuessThrottle, count_wrong_guess
from kilit.api.errors import error_page
from orchestrator.errors import Code
from orchestrator.planning.rules import valid_rules
from orchestrator.states import OPEN, JobState
from orchestrator.status_links import WithdrawnLink, linked_job

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


@require_safe
def status_page(request: HttpRequest, token: str) -> HttpResponse:
    with override(get_language_from_request(request)):
        response = _answer(request, token)
    for name, value in HEADERS.items():
        response[name] = value
    return response


def _answer(request: HttpRequest, token: str) -> HttpResponse:
    if not GuessThrottle().allow_request(request, None):
        return error_page(429, _("Too many links that do not exist were tried. Try later."), is_console=False)
    try:
        job = linked_job(token)
    except BadSignature:
        count_wrong_guess(request)
        return error_page(404, _("There is no such link."), is_console=False)
    except WithdrawnLink:
        return error_page(410, _("This link no longer works. Ask its sender for a new one."), is_console=False)
    rules, words = valid_rules(), WORDS.get(JobState(job.status), PREPARING)
    context = {
        "job": job,
        "words": _("Your order was cancelled.") if job.error_code == Code.CANCELLED else words,
        "due_on": job.due_on if job.status in OPEN else None,
        "company": rules.company if rules else None,
    }
    return HttpResponse(render_to_string("orchestrator/status.html", context))
