"""The way to the provider and back; every refusal has a page that says why."""

import logging
from urllib.parse import urlencode

from allauth.account.internal.flows.login import perform_login, record_authentication
from allauth.account.models import Login
from django.conf import settings
from django.contrib import admin
from django.contrib.auth import logout
from django.db import IntegrityError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import path, reverse
from django.utils.encoding import iri_to_uri
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from kilit.console.account.login_pages import LoginPage, provider_silence
from kilit.sites.oidc.accounts import InactiveError, NotInvitedError, user_of
from kilit.sites.oidc.client import TURNS, NotAskedError, ProviderError, SilentError
from kilit.sites.oidc.pending import LONGEST_NEXT, PendingLogin
from kilit.sites.oidc.provider import UnverifiedError, claims_of, login_url

logger = logging.getLogger("kilit.oidc")

PROVIDER = "oidc"
BUSY_FOR = 5  # seconds; a thread waits no longer for the provider


@never_cache
@require_GET
def start(request: HttpRequest) -> HttpResponseBase:
    _require_oidc()
    following = request.GET.get("next", "")
    is_ours = url_has_allowed_host_and_scheme(following, {request.get_host()}, require_https=request.is_secure())
    following = iri_to_uri(following)
    if not is_ours or len(following) > LONGEST_NEXT:
        following = reverse("admin:index")
    pending = PendingLogin.begin(following)
    try:
        away = HttpResponseRedirect(login_url(pending, _callback_url()))
    except ProviderError as error:
        return _provider_failed(request, error, following)
    pending.remember(request, away)
    return away


@never_cache
@require_GET
def callback(request: HttpRequest) -> HttpResponseBase:
    _require_oidc()
    pending = PendingLogin.of(request)
    if pending is None:
        return _not_started_here(request)
    answer = _answer(request, pending)
    pending.forget(answer)
    return answer


def _answer(request: HttpRequest, pending: PendingLogin) -> HttpResponseBase:
    if "code" not in request.GET:
        return _refused(request, _("%(provider)s did not log you in.") % _provider())
    try:
        claims = claims_of(pending, request.GET["code"], _callback_url())
        if not pending.use():
            return _not_started_here(request)
        return _log_in(request, claims, pending.next)
    except ProviderError as error:
        return _provider_failed(request, error, pending.next)
    except UnverifiedError as error:
        logger.warning("a login was refused: %s", error)
        reason = _("The answer of %(provider)s could not be verified. Start again.")
    except NotInvitedError:
        reason = _("Your account at %(provider)s is in no group that may use this console. Ask its administrator.")
    except InactiveError:
        reason = _("Your account in this console is deactivated.")
    return _refused(request, reason % _provider())


def _log_in(request: HttpRequest, claims: dict[str, object], following: str) -> HttpResponse:
    try:
        user = user_of(claims)
    except IntegrityError:  # the same person's first login, in another window at the same moment
        user = user_of(claims)
    if request.user.is_authenticated:
        logout(request)
    record_authentication(request, user, "socialaccount", provider=PROVIDER)
    return perform_login(request, Login(user=user, redirect_url=following))


def _require_oidc() -> None:
    if not settings.OIDC_ISSUER:
        raise Http404


def _callback_url() -> str:
    """Return our own address, as it is registered at the provider, whatever host the request names."""
    return f"{settings.PUBLIC_URL}{reverse('oidc_callback')}"


def _provider() -> dict[str, str]:
    return {"provider": settings.OIDC_NAME}


def _provider_failed(request: HttpRequest, error: ProviderError, following: str) -> HttpResponseBase:
    """Show the login page: passwords go on working."""
    if not isinstance(error, NotAskedError):
        logger.error("the login provider failed: %s", error)
    note = _("%(provider)s does not answer as expected. Try again later.") % _provider()
    if isinstance(error, NotAskedError | SilentError):
        note = (
            provider_silence()
            or _("Others are logging in with %(provider)s. Try again in a few seconds.") % _provider()
        )
    login = f"{reverse('admin:login')}?{urlencode({'next': following})}"
    page = LoginPage.as_view(extra_context={"provider_note": note, "next": following, "app_path": login})(request)
    page.status_code = 503 if isinstance(error, NotAskedError) else 502
    page["Retry-After"] = str(TURNS.seconds_to_wait() or BUSY_FOR)
    return page


def _not_started_here(request: HttpRequest) -> HttpResponse:
    return _refused(request, _("This login was not started in this browser, or too long ago. Start again."), 400)


def _refused(request: HttpRequest, reason: str, status: int = 403) -> HttpResponse:
    context = {**admin.site.each_context(request), "title": _("You are not logged in"), "notes": [reason]}
    return render(request, "admin/login_notes.html", context, status=status)


urls = [
    path("", start, name="oidc_start"),
    path("callback/", callback, name="oidc_callback"),
]
