"""Logins, and how many wrong passwords are taken before a login has to wait.

| counted | then |
|---|---|
| a username from one address | locked for KILIT_LOCKOUT_MINUTES |
| an address, whatever the username | locked for KILIT_LOCKOUT_MINUTES |
| a username, whatever the address | waits that double, from 30 seconds to KILIT_LOCKOUT_MINUTES |

Only the first applies where a user has logged in during the last 90 days: a stranger can neither keep a user out of
their usual places, nor, behind the same proxy, everyone. All times are the database's.
"""

from contextlib import suppress
from datetime import timedelta
from http import HTTPStatus
from ipaddress import IPv6Address, ip_address, ip_network
from math import ceil
from typing import Any, NamedTuple

from django.conf import settings
from django.contrib import admin
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from kilit.access.models import RateWindow
from kilit.access.models.login_window import KNOWN_FOR, LoginWindow, window_name
from kilit.access.roles import actor_of
from kilit.lock.models import Activity, ActivityKind

LONGEST_NAME = 150  # of a user
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


class LockoutBackend:
    """Only blocks; the next backend authenticates."""

    def authenticate(self, request: HttpRequest | None, username: str = "", **_credentials: object) -> None:
        if request and seconds_to_wait(username, client_address(request)):
            lock_out(request, username)
            raise PermissionDenied


def lock_out(request: HttpRequest, username: str) -> None:
    """Let the middleware show how long the lockout lasts."""
    request.locked_out_username = username  # type: ignore[attr-defined]


def is_locked_out(request: HttpRequest) -> bool:
    return hasattr(request, "locked_out_username")


def count_failed_login(credentials: dict[str, Any], request: HttpRequest | None = None, **_: object) -> None:
    if request is None or is_locked_out(request):
        return  # without a look at the password
    username, address = str(credentials.get("username", ""))[:LONGEST_NAME], network_of(client_address(request))
    names = _names(username, address)
    for name in (names.address, names.name):
        LoginWindow.objects.add_failure(name, window=settings.LOCKOUT_TIME)
    LoginWindow.objects.add_failure(names.both, window=settings.LOCKOUT_TIME, username=username, address=address)
    if seconds_to_wait(username, address):
        lock_out(request, username)


def note_login(request: HttpRequest, user: User, **_: object) -> None:
    names = _names(user.get_username(), client_address(request))
    LoginWindow.objects.filter(name=names.both).delete()
    LoginWindow.objects.note_login(names.known)


def unlock(username: str, address: str = "") -> None:
    """Forget the failed logins of a name: from one address, or from all."""
    if address:
        rows = Q(name__in=_names(username, address)[1:])
    else:
        rows = Q(name=window_name("name", username)) | Q(name__startswith="login:", username=username)
    LoginWindow.objects.filter(rows).delete()


def seconds_to_wait(username: str, address: str) -> int:
    """Return how long a login has to wait; 0 if it need not."""
    return max(_waits(username, address))


def _waits(username: str, address: str) -> tuple[int, int]:
    """Return the seconds for the limit of the name at the address, and for those of either."""
    names = _names(username, address)
    windows = {window.name: window for window in LoginWindow.objects.with_age(names)}
    longest = settings.LOCKOUT_TIME
    of_both = _seconds(windows.get(names.both), settings.LOGIN_TRIES, longest)
    if names.known in windows and windows[names.known].age < KNOWN_FOR:
        return of_both, 0
    of_address = _seconds(windows.get(names.address), settings.LOGIN_TRIES_PER_ADDRESS, longest)
    return of_both, max(of_address, _seconds(windows.get(names.name), settings.LOGIN_TRIES_PER_NAME, FIRST_WAIT))


def _seconds(window: LoginWindow | None, limit: int, first: timedelta) -> int:
    if window is None or window.failures < limit:
        return 0
    doubled = first * 2 ** min(window.failures - limit, MOST_DOUBLINGS)
    left: timedelta = min(doubled, settings.LOCKOUT_TIME) - window.age
    return max(0, ceil(left.total_seconds()))


class WindowNames(NamedTuple):
    known: str
    both: str
    address: str
    name: str


def _names(username: str, address: str) -> WindowNames:
    network = address if "/" in address else network_of(address)
    return WindowNames(
        window_name("known", username, network),
        window_name("login", username, network),
        window_name("address", network),
        window_name("name", username),
    )


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


def locked_out(request: HttpRequest, username: str) -> HttpResponse:
    """Show how long the lockout lasts; the page is the same whether or not the username exists."""
    of_both, of_one = _waits(username, client_address(request))
    of_one = max(of_one, _code_seconds(username))
    seconds = max(of_both, of_one, 1)
    limit = settings.LOGIN_TRIES if of_both >= of_one else 0
    context = {**admin.site.each_context(request), "minutes": ceil(seconds / 60), "limit": limit}
    page = render(request, "admin/locked_out.html", context, status=HTTPStatus.TOO_MANY_REQUESTS)
    page["Retry-After"] = str(seconds)
    return page


def _code_seconds(username: str) -> int:
    """Return how long no more codes of a user are taken; 0 if they are."""
    window = LoginWindow.objects.with_age([window_name("codes", username)]).first()
    return _seconds(window, settings.LOGIN_TRIES, settings.LOCKOUT_TIME)


def record_login(user: User, **_: object) -> None:
    Activity.objects.record(ActivityKind.LOGIN, "login", actor=actor_of(user), message="")


def record_password_reset(user: User) -> None:
    Activity.objects.record(ActivityKind.LOGIN, "password_reset", actor=actor_of(user), message="")


def forget_attempts() -> str:
    started = timedelta(seconds=settings.ACCOUNT_LOGIN_TIMEOUT)  # a login by a provider is used once in that time
    windows = LoginWindow.objects.forget_old(window=max(settings.LOCKOUT_TIME, CODE_LIFE, started))
    return f"Deleted {windows + RateWindow.forget_old()}."
