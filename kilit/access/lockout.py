"""Logins, and how many wrong passwords are taken before a login has to wait.

| counted | by | then |
|---|---|---|
| a username from one address | django-axes | locked for KILIT_LOCKOUT_MINUTES |
| an address, whatever the username | us | locked for KILIT_LOCKOUT_MINUTES |
| a username, whatever the address | us | waits that double, from 30 seconds to KILIT_LOCKOUT_MINUTES |

Only the first applies where a user has logged in during the last 90 days: a stranger can neither keep a user out of
their usual places, nor, behind the same proxy, everyone. All times are the database's.
"""

from contextlib import suppress
from datetime import timedelta
from ipaddress import IPv6Address, ip_address, ip_network
from math import ceil
from typing import Any

from axes.handlers.database import AxesDatabaseHandler
from axes.helpers import get_client_username
from axes.models import AccessAttempt
from django.conf import settings
from django.contrib import admin
from django.contrib.auth.models import User
from django.db.models import Max, Sum
from django.db.models.functions import Now
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from kilit.access.models import RateWindow
from kilit.access.models.login_window import KNOWN_FOR, LoginWindow, window_name
from kilit.access.roles import actor_of
from kilit.lock.clock import database_time
from kilit.lock.models import Activity, ActivityKind

FIRST_WAIT = timedelta(seconds=30)
IPV6_SITE = 64  # bits: what one customer of a provider has at least
MOST_DOUBLINGS = 20
CODE_LIFE = timedelta(minutes=2)  # longer than any code of an authenticator app is accepted


def network_of(address: str) -> str:
    """Return an address, or its IPv6 network, which has addresses without end."""
    ip = ip_address(address)
    if isinstance(ip, IPv6Address) and not ip.ipv4_mapped:
        return str(ip_network((ip, IPV6_SITE), strict=False))
    return str(getattr(ip, "ipv4_mapped", None) or ip)


class LoginHandler(AxesDatabaseHandler):
    """django-axes' handler, with the limits of addresses and names, and with the database's clock."""

    def is_locked(self, request: HttpRequest, credentials: dict[str, object] | None = None) -> bool:
        request.axes_attempt_time = database_time()  # type: ignore[attr-defined]
        return super().is_locked(request, credentials) or bool(_wait(request, credentials))

    def user_login_failed(
        self, sender: object, credentials: dict[str, Any], request: Any = None, **options: object
    ) -> None:
        is_denied = request is None or request.axes_locked_out  # without a look at the password
        super().user_login_failed(sender, credentials, request, **options)
        if is_denied:
            return
        for name in _names(*_who(request, credentials))[1:]:
            LoginWindow.objects.add_failure(name, window=settings.AXES_COOLOFF_TIME)
        if _wait(request, credentials):
            request.axes_locked_out, request.axes_credentials = True, credentials

    def user_logged_in(self, sender: object, request: Any, user: Any, **options: object) -> None:
        super().user_logged_in(sender, request, user, **options)
        LoginWindow.objects.note_login(_names(user.get_username(), request.axes_ip_address)[0])

    def reset_attempts(self, *, ip_address: str | None = None, username: str | None = None, **options: object) -> int:
        deleted: int = super().reset_attempts(ip_address=ip_address, username=username, **options)
        _, by_address, by_name = _names(username or "", ip_address or "127.0.0.1")
        names = [*([by_address] if ip_address else []), *([by_name] if username else [])]
        LoginWindow.objects.filter(name__in=names).delete()
        return deleted


def seconds_to_wait(username: str, address: str) -> int:
    """Return how long a login has to wait for the limits of its address and of its name; 0 if it need not."""
    by_place, by_address, by_name = names = _names(username, address)
    windows = {window.name: window for window in LoginWindow.objects.with_age(names)}
    if by_place in windows and windows[by_place].age < KNOWN_FOR:
        return 0
    waits = {
        by_address: (settings.LOGIN_TRIES_PER_ADDRESS, settings.AXES_COOLOFF_TIME),
        by_name: (settings.LOGIN_TRIES_PER_NAME, FIRST_WAIT),
    }
    left = [_left(windows[name], *waits[name]) for name in waits if name in windows]
    return max(0, *(int(span.total_seconds()) + 1 for span in left if span > timedelta()), 0)


def _left(window: LoginWindow, limit: int, first: timedelta) -> timedelta:
    if window.failures < limit:
        return timedelta()
    doubled = first * 2 ** min(window.failures - limit, MOST_DOUBLINGS)
    return min(doubled, settings.AXES_COOLOFF_TIME) - window.age  # type: ignore[no-any-return]


def _wait(request: HttpRequest, credentials: dict[str, object] | None) -> int:
    return seconds_to_wait(*_who(request, credentials))


def _who(request: Any, credentials: dict[str, Any] | None) -> tuple[str, str]:
    return str(get_client_username(request, credentials) or ""), request.axes_ip_address


def _names(username: str, address: str) -> tuple[str, str, str]:
    network = network_of(address)
    return window_name("known", username, network), window_name("address", network), window_name("name", username)


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


def locked_out(
    request: HttpRequest, response: HttpResponse | None, credentials: dict[str, object] | None
) -> HttpResponse:
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
    limits = settings.AXES_FAILURE_LIMIT, settings.AXES_COOLOFF_TIME
    return max(0, ceil(_left(window, *limits).total_seconds())) if window else 0


def record_login(user: User, **_: object) -> None:
    Activity.objects.record(ActivityKind.LOGIN, "login", actor=actor_of(user), message="")


def record_password_reset(user: User) -> None:
    Activity.objects.record(ActivityKind.LOGIN, "password_reset", actor=actor_of(user), message="")


def forget_attempts() -> str:
    old = AccessAttempt.objects.filter(attempt_time__lt=Now() - settings.AXES_COOLOFF_TIME)
    started = timedelta(seconds=settings.ACCOUNT_LOGIN_TIMEOUT)  # a login by a provider is used once in that time
    windows = LoginWindow.objects.forget_old(window=max(settings.AXES_COOLOFF_TIME, CODE_LIFE, started))
    return f"Deleted {old.delete()[0] + windows + RateWindow.forget_old()}."
