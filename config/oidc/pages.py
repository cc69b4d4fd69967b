"""The way to the provider and back; every refusal has a page that says why."""

import logging
from dataclasses import asdict
from typing import Any

from allauth.account.internal.flows.login import perform_login, record_authentication
from allauth.account.models import Login
from allauth.socialaccount.internal import statekit
from django.conf import settings
from django.contrib import admin
from django.contrib.auth import logout
from django.db import IntegrityError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import path, reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from config.oidc.accounts import InactiveError, NotInvitedError, user_of
from config.oidc.provider import PendingLogin, ProviderError, UnverifiedError

logger = logging.getLogger("kilit.oidc")

PROVIDER = "oidc"


@never_cache
@require_GET
def start(request: HttpRequest) -> HttpResponse:
    _require_oidc()
    following = request.GET.get("next", "")
    if not url_has_allowed_host_and_scheme(following, {request.get_host()}, require_https=request.is_secure()):
        following = reverse("admin:index")
    pending = PendingLogin.begin(following)
    state = statekit.stash_state(request, provider_id=PROVIDER, state=asdict(pending))
    try:
        return HttpResponseRedirect(pending.login_url(state, _callback_url()))
    except ProviderError as error:
        return _provider_failed(request, error)


@never_cache
@require_GET
def callback(request: HttpRequest) -> HttpResponse:
    _require_oidc()
    # It is in the session of the browser that started the login, and works once.
    state = statekit.unstash_state(request, provider_id=PROVIDER, state_id=request.GET.get("state", ""))
    if state is None:
        return _refused(request, _("This login was not started in this browser, or too long ago. Start again."), 400)
    if "code" not in request.GET:
        return _refused(request, _("%(provider)s did not log you in.") % _provider())
    pending = PendingLogin(**state)
    try:
        claims = pending.claims(request, request.GET["code"], _callback_url())
        return _log_in(request, claims, pending.next)
    except ProviderError as error:
        return _provider_failed(request, error)
    except UnverifiedError as error:
        logger.warning("a login was refused: %s", error)
        reason = _("The answer of %(provider)s could not be verified. Start again.")
    except NotInvitedError:
        reason = _("Your account at %(provider)s is in no group that may use this console. Ask its administrator.")
    except InactiveError:
        reason = _("Your account in this console is deactivated.")
    return _refused(request, reason % _provider())


def _log_in(request: HttpRequest, claims: dict[str, Any], following: str) -> HttpResponse:
    try:
        user = user_of(claims)
    except IntegrityError:  # the same person's first login, in another window at the same moment
        user = user_of(claims)
    if request.user.is_authenticated:
        logout(request)
    record_authentication(request, user, "socialaccount", provider=PROVIDER)
    answer: HttpResponse = perform_login(request, Login(user=user, redirect_url=following))
    return answer


def _require_oidc() -> None:
    if not settings.OIDC_ISSUER:
        raise Http404


def _callback_url() -> str:
    """Return our own address, as it is registered at the provider, whatever host the request names."""
    return f"{settings.PUBLIC_URL}{reverse('oidc_callback')}"


def _provider() -> dict[str, str]:
    return {"provider": settings.OIDC_NAME}


def _provider_failed(request: HttpRequest, error: ProviderError) -> HttpResponse:
    logger.error("the login provider failed: %s", error)
    return _refused(request, _("%(provider)s does not answer as expected. Try again later.") % _provider(), 502)


def _refused(request: HttpRequest, reason: str, status: int = 403) -> HttpResponse:
    context = {**admin.site.each_context(request), "title": _("You are not logged in"), "reason": reason}
    return render(request, "admin/login_refused.html", context, status=status)


urls = [
    path("", start, name="oidc_start"),
    path("callback/", callback, name="oidc_callback"),
]
