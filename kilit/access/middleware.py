"""Middleware: require a second factor, name the logged-in user as the actor, and record requests that are denied."""

from collections.abc import Callable

from django.contrib import admin
from django.contrib.admin.utils import unquote
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from kilit.access.lockout import client_address, is_locked_out, locked_out
from kilit.access.models import DenialCode, DeniedRequest
from kilit.access.roles import actor_of
from kilit.access.second_factor import lacks_second_factor
from kilit.lock.audit import current_context, name_actor

CONSOLE = "/admin/"


class Middleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response


class SecondFactorMiddleware(Middleware):
    """Where a second factor is required, a session without one reaches only the pages that set one up."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not request.COOKIES or not lacks_second_factor(request):
            return self.get_response(request)
        if not request.path.startswith(CONSOLE):
            request.user = AnonymousUser()  # the API answers as it does without a session
            return self.get_response(request)
        pages = reverse("second_factor")
        if request.path.startswith((pages, reverse("admin:logout"), reverse("set_language"))):
            return self.get_response(request)
        if "HX-Request" in request.headers:
            return HttpResponse(status=204)  # nothing to update on the page that is open
        return HttpResponseRedirect(pages)


class LockoutMiddleware(Middleware):
    """Shows how long a lockout lasts, whichever page counted the login."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        return locked_out(request, request.locked_out_username) if is_locked_out(request) else response  # type: ignore[attr-defined]


class ActorMiddleware(Middleware):
    def __call__(self, request: HttpRequest) -> HttpResponse:
        # Without a cookie there is no session to read.
        if request.COOKIES and request.user.is_authenticated:
            name_actor(actor_of(request.user))
        return self.get_response(request)


class DeniedRequestMiddleware(Middleware):
    """Records every request that was denied to a user or to a known key, whichever view denied it."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if denial := denial_of(request, response):
            code, detail = denial
            DeniedRequest.objects.record(
                actor=current_context().actor,
                address=client_address(request),
                method=request.method or "",
                path=request.path,
                code=code,
                detail=detail,
            )
        return response

    def process_view(self, request: HttpRequest, view: object, args: object, kwargs: object) -> None:
        """Deny an action that the list did not offer; Django would respond as if no action had been selected."""
        model_admin = getattr(view, "model_admin", None)
        match = request.resolver_match
        is_list = bool(match and match.url_name and match.url_name.endswith("_changelist"))
        if request.method != "POST" or model_admin is None or not is_list:
            return
        if not model_admin.admin_site.has_permission(request):
            return  # the login page is shown
        selected = {name for name in request.POST.getlist("action") if name}
        if not selected <= set(model_admin.get_actions(request)):
            raise PermissionDenied


def denial_of(request: HttpRequest, response: HttpResponse) -> tuple[DenialCode, str] | None:
    if marked := getattr(request, "denial", None):
        return marked  # type: ignore[no-any-return]
    if is_locked_out(request):
        return DenialCode.LOCKED_OUT, ""
    is_known = current_context().actor != "anonymous"
    if response.status_code == 403 and (is_known or request.path.startswith(CONSOLE)):
        return DenialCode.FORBIDDEN, ""
    if response.status_code == 401 and is_known:
        return DenialCode.ENDED_KEY, ""
    if is_known and request.path.startswith(CONSOLE) and _is_hidden_row(request, response):
        return DenialCode.NOT_YOURS, ""
    return None


def _is_hidden_row(request: HttpRequest, response: HttpResponse) -> bool:
    """Check whether a "not found" response was for a row that exists but is not the user's."""
    is_missing = response.status_code == 404
    # The admin redirects to its index for a row that does not exist.
    is_redirect = response.status_code == 302 and response["Location"] == reverse("admin:index")
    match = request.resolver_match
    if not (is_missing or is_redirect) or match is None or "object_id" not in match.kwargs:
        return False
    admins = admin.site._registry.values()
    prefixes = {f"{registered.opts.app_label}_{registered.opts.model_name}_": registered for registered in admins}
    model_admin = next(
        (registered for prefix, registered in prefixes.items() if str(match.url_name).startswith(prefix)), None
    )
    if model_admin is None:
        return False
    pk = unquote(match.kwargs["object_id"])
    try:
        exists = model_admin.model._default_manager.filter(pk=pk).exists()
        return exists and (request.method == "POST" or not model_admin.get_queryset(request).filter(pk=pk).exists())
    except (ValueError, ValidationError):
        return False
