"""Logins, and the lockout after too many wrong passwords; django-axes counts them."""

from contextlib import suppress
from datetime import timedelta
from ipaddress import ip_address
from math import ceil
from typing import Any

from axes.models import AccessAttempt
from django.conf import settings
from django.contrib import admin
from django.contrib.auth.models import User
from django.db.models import Max, Sum
from django.db.models.functions import Now
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from kilit.access.login_limits import seconds_to_wait
from kilit.access.models import LoginWindow, RateWindow
from kilit.access.models.login_window import window_name
from kilit.access.roles import actor_of
from kilit.lock.clock import database_time
from kilit.lock.models import Activity, ActivityKind

CODE_LIFE = timedelta(minutes=2)  # longer than any code of an authenticator app is accepted


def client_address(request: HttpRequest) -> str:
    """Return the client's address, from the connection or from our own proxies.

    Each proxy appends an address to X-Forwarded-For, so only the last KILIT_PROXIES entries can be trusted; the client
    may have sent the others.
    """
    forwarded = request.headers.get("X-Forwarded-For", "").split(",")
    if 0 < settings.PROXIES <= len(forwarded):
        with suppress(ValueError):
            return str(ip_address(forwarded[-settings.PROXIES].strip()))
    # A Unix socket has no address.
    with suppress(ValueError):
        return str(ip_address(str(request.META.get("REMOTE_ADDR", ""))))
    return "127.0.0.1"


def locked_out(request: HttpRequest, response: HttpResponse | None, credentials: dict[str, Any] | None) -> HttpResponse:
    """Show how long the lockout lasts; the page is the same whether or not the username exists."""
    username, address = str((credentials or {}).get("username", "")), client_address(request)
    by_both, by_one = seconds_left(username, address), max(seconds_to_wait(username, address), _code_seconds(username))
    seconds = max(by_both, by_one, 1)
    limit = settings.AXES_FAILURE_LIMIT if by_both >= by_one else 0
    context = {**admin.site.each_context(request), "minutes": ceil(seconds / 60), "limit": limit}
    page = render(request, "admin/locked_out.html", context, status=settings.AXES_HTTP_RESPONSE_CODE)
    page["Retry-After"] = str(seconds)
    return page


def seconds_left(username: str, address: str) -> int:
    failed = AccessAttempt.objects.filter(username=username, ip_address=address)
    failed = failed.filter(attempt_time__gte=database_time() - settings.AXES_COOLOFF_TIME)
    sums = failed.aggregate(failures=Sum("failures_since_start"), last=Max("attempt_time"))
    if (sums["failures"] or 0) < settings.AXES_FAILURE_LIMIT:
        return 0
    left: timedelta = sums["last"] + settings.AXES_COOLOFF_TIME - database_time()
    return max(1, ceil(left.total_seconds()))


def _code_seconds(username: str) -> int:
    """Return how long no more codes of a user are taken; 0 if they are."""
    window = LoginWindow.objects.with_age([window_name("codes", username)]).first()
    if window is None or window.failures < settings.AXES_FAILURE_LIMIT:
        return 0
    left: timedelta = settings.AXES_COOLOFF_TIME - window.age
    return max(0, ceil(left.total_seconds()))


def record_login(user: User, **_: Any) -> None:
    Activity.objects.record(ActivityKind.LOGIN, "login", actor=actor_of(user), message="")


def record_password_reset(user: User) -> None:
    Activity.objects.record(ActivityKind.LOGIN, "password_reset", actor=actor_of(user), message="")


def forget_attempts() -> str:
    old = AccessAttempt.objects.filter(attempt_time__lt=Now() - settings.AXES_COOLOFF_TIME)
    started = timedelta(seconds=settings.ACCOUNT_LOGIN_TIMEOUT)  # a login by a provider is used once in that time
    windows = LoginWindow.objects.forget_old(window=max(settings.AXES_COOLOFF_TIME, CODE_LIFE, started))
    return f"Deleted {old.delete()[0] + windows + RateWindow.forget_old()}."
