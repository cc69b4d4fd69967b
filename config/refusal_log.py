"""Every refusal of a person or of a known key is written down, whichever page it came from."""

from typing import Any

from django.contrib import admin
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext_noop

from config.middleware import GetResponse
from kilit.access.lockout import client_address
from kilit.access.models import DenialCode, DeniedRequest
from kilit.access.models.denied_request import mark_denied
from kilit.api.errors import error_response
from kilit.lock.audit import acting

CONSOLE = "/admin/"
Refused = tuple[DenialCode, str]


class RecordRefusals:
    """Looks at each answer, and notes who was refused what."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if refused := refused_as(request, response):
            code, detail = refused
            DeniedRequest.objects.note(
                actor=acting().actor,
                address=client_address(request),
                method=request.method or "",
                path=request.path,
                code=code,
                detail=detail,
            )
        return response

    def process_view(self, request: HttpRequest, view: Any, args: Any, kwargs: Any) -> None:
        """Refuse an action that the list did not offer; Django would answer as if none had been chosen."""
        model_admin = getattr(view, "model_admin", None)
        if request.method != "POST" or model_admin is None or not _ends(request, "_changelist"):
            return
        if not model_admin.admin_site.has_permission(request):
            return  # the login page answers
        chosen = [name for name in request.POST.getlist("action") if name]
        if chosen and not set(chosen) <= set(model_admin.get_actions(request)):
            raise PermissionDenied


def refused_as(request: HttpRequest, response: HttpResponse) -> Refused | None:
    """Return why an answer is a refusal worth keeping, or none."""
    if marked := getattr(request, "refused_as", None):
        return marked  # type: ignore[no-any-return]
    if getattr(request, "axes_locked_out", False):
        return DenialCode.LOCKED_OUT, ""
    known = acting().actor != "anonymous"
    if response.status_code == 403 and (known or request.path.startswith(CONSOLE)):  # noqa: PLR2004
        return DenialCode.FORBIDDEN, ""
    if response.status_code == 401 and known:  # noqa: PLR2004
        return DenialCode.ENDED_KEY, ""
    if known and request.path.startswith(CONSOLE) and _is_beyond_reach(request, response):
        return DenialCode.NOT_YOURS, ""
    return None


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Answer a form that did not come from our own page, or from a page that is too old."""
    mark_denied(request, DenialCode.CSRF, reason)
    message = gettext_noop(
        "This form was not sent from our own page, or the page was too old. Reload it and try again."
    )
    return error_response(request, 403, message)


def _is_beyond_reach(request: HttpRequest, response: HttpResponse) -> bool:
    """Tell whether a row was answered as not existing although there is one, somebody else's."""
    is_missing = response.status_code == 404  # noqa: PLR2004
    # Django's own pages lead back to the first page, and say there that there is none.
    sent_home = response.status_code == 302 and response["Location"] == reverse("admin:index")  # noqa: PLR2004
    match = request.resolver_match
    if not (is_missing or sent_home) or match is None or "object_id" not in match.kwargs:
        return False
    named = [
        model_admin
        for model, model_admin in admin.site._registry.items()  # noqa: SLF001 - Django offers no other way
        if (match.url_name or "").startswith(f"{model._meta.app_label}_{model._meta.model_name}_")
    ]
    if not named:
        return False
    pk = unquote(match.kwargs["object_id"])
    try:
        exists = named[0].model._default_manager.filter(pk=pk).exists()
        return exists and (request.method == "POST" or not named[0].get_queryset(request).filter(pk=pk).exists())
    except (ValueError, ValidationError):
        return False


def _ends(request: HttpRequest, ending: str) -> bool:
    match = request.resolver_match
    return bool(match and match.url_name and match.url_name.endswith(ending))
