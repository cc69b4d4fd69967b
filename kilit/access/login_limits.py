"""How many wrong passwords are taken before a login has to wait.

| counted | by | then |
|---|---|---|
| a username from one address | django-axes | locked for KILIT_LOCKOUT_MINUTES |
| an address, whatever the username | us | locked for KILIT_LOCKOUT_MINUTES |
| a username, whatever the address | us | waits that double, from 30 seconds to KILIT_LOCKOUT_MINUTES |

Only the first applies where a user has logged in during the last 90 days: a stranger can neither keep a user out of
their usual places, nor, behind the same proxy, everyone. All times are the database's.
"""

from datetime import timedelta
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Any

from axes.handlers.database import AxesDatabaseHandler
from axes.helpers import get_client_username
from django.conf import settings
from django.http import HttpRequest

from kilit.access.models.login_window import KNOWN_FOR, LoginWindow, window_name
from kilit.lock.clock import database_time

FIRST_WAIT = timedelta(seconds=30)
IPV6_SITE = 64  # bits: what one customer of a provider has at least
MOST_DOUBLINGS = 20


def network_of(address: str) -> str:
    """Return an address, or its IPv6 network, which has addresses without end."""
    ip = ip_address(address)
    if isinstance(ip, IPv6Address) and not ip.ipv4_mapped:
        return str(ip_network((ip, IPV6_SITE), strict=False))
    return str(getattr(ip, "ipv4_mapped", None) or ip)


class LoginHandler(AxesDatabaseHandler):
    """django-axes' handler, with the limits of addresses and names, and with the database's clock."""

    def is_locked(self, request: HttpRequest, credentials: dict[str, Any] | None = None) -> bool:
        request.axes_attempt_time = database_time()  # type: ignore[attr-defined]
        return super().is_locked(request, credentials) or bool(_wait(request, credentials))

    def user_login_failed(self, sender: Any, credentials: dict[str, Any], request: Any = None, **options: Any) -> None:
        is_denied = request is None or request.axes_locked_out  # without a look at the password
        super().user_login_failed(sender, credentials, request, **options)
        if is_denied:
            return
        for name in _names(*_who(request, credentials))[1:]:
            LoginWindow.objects.add_failure(name, window=settings.AXES_COOLOFF_TIME)
        if _wait(request, credentials):
            request.axes_locked_out, request.axes_credentials = True, credentials

    def user_logged_in(self, sender: Any, request: Any, user: Any, **options: Any) -> None:
        super().user_logged_in(sender, request, user, **options)
        LoginWindow.objects.note_login(_names(user.get_username(), request.axes_ip_address)[0])

    def reset_attempts(self, *, ip_address: str | None = None, username: str | None = None, **options: Any) -> int:
        deleted: int = super().reset_attempts(ip_address=ip_address, username=username, **options)
        _, by_address, by_name = _names(username or "", ip_address or "127.0.0.1")
        names = [*([by_address] if ip_address else []), *([by_name] if username else [])]
        LoginWindow.objects.filter(name__in=names).delete()
        return deleted


def seconds_to_wait(username: str, address: str) -> int:
    """Return how long a login has to wait for the limits of its address and of its name; 0 if it need not."""
    by_place, by_address, by_name = names = _names(username, address)
    windows = {window.name: window for window in LoginWindow.objects.with_age(names)}
    if by_place in windows and windows[by_place].age < KNOWN_FOR:  # type: ignore[attr-defined]
        return 0
    waits = {
        by_address: (settings.LOGIN_TRIES_PER_ADDRESS, settings.AXES_COOLOFF_TIME),
        by_name: (settings.LOGIN_TRIES_PER_NAME, FIRST_WAIT),
    }
    left = [_left(windows[name], *waits[name]) for name in waits if name in windows]
    return max(0, *(int(span.total_seconds()) + 1 for span in left if span > timedelta()), 0)


def _left(window: Any, limit: int, first: timedelta) -> timedelta:
    if window.failures < limit:
        return timedelta()
    doubled = first * 2 ** min(window.failures - limit, MOST_DOUBLINGS)
    return min(doubled, settings.AXES_COOLOFF_TIME) - window.age  # type: ignore[no-any-return]


def _wait(request: Any, credentials: dict[str, Any] | None) -> int:
    return seconds_to_wait(*_who(request, credentials))


def _who(request: Any, credentials: dict[str, Any] | None) -> tuple[str, str]:
    return str(get_client_username(request, credentials) or ""), request.axes_ip_address


def _names(username: str, address: str) -> tuple[str, str, str]:
    network = network_of(address)
    return window_name("known", username, network), window_name("address", network), window_name("name", username)
