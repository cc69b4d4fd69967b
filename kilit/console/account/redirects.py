"""Where a form that is sent from several pages leads back to."""

from django.http import HttpRequest, HttpResponseRedirect
from django.utils.http import url_has_allowed_host_and_scheme


def back_to_page(request: HttpRequest, default: str) -> HttpResponseRedirect:
    """Return to the page that the form names as `next`, if it is one of ours."""
    page = request.POST.get("next", "")
    is_ours = url_has_allowed_host_and_scheme(page, allowed_hosts=None)
    return HttpResponseRedirect(page if is_ours else default)
