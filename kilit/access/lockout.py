"""Who guesses passwords is shut out for a while; django-axes counts, and this says so."""

from contextlib import suppress
from ipaddress import ip_address
from math import ceil
from typing import Any

from axes.models import AccessAttempt
from django.conf import settings
from django.contrib import admin
from django.db.models import Max
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone


def client_address(request: HttpRequest) -> str:
    """Return who is speaking: the other end of the connection, or what our own proxies wrote, and nobody else.

    Each proxy appends whom it saw to X-Forwarded-For. Of that header only the last entries are ours, as many as there
    are proxies; whatever stands before them the client may have invented.
    """
    direct = str(request.META.get("REMOTE_ADDR", ""))
    seen = request.headers.get("X-Forwarded-For", "").split(",")
    if 0 < settings.PROXIES <= len(seen):
        with suppress(ValueError):
            return str(ip_address(seen[-settings.PROXIES].strip()))
    # A socket file has no address.
    with suppress(ValueError):
        return str(ip_address(direct))
    return "127.0.0.1"


def locked_out(request: HttpRequest, response: HttpResponse | None, credentials: dict[str, Any] | None) -> HttpResponse:
    """Say what happened and for how long; the same for names that exist and names that do not."""
    seconds = seconds_left(str((credentials or {}).get("username", "")), client_address(request))
    context = {**admin.site.each_context(request), "minutes": ceil(seconds / 60), "limit": settings.AXES_FAILURE_LIMIT}
    page = render(request, "admin/locked_out.html", context, status=settings.AXES_HTTP_RESPONSE_CODE)
    page["Retry-After"] = str(seconds)
    return page


def seconds_left(username: str, address: str) -> int:
    """Return how long a name stays shut out from an address, at least a second."""
    failed = AccessAttempt.objects.filter(username=username, ip_address=address)
    last = failed.aggregate(last=Max("attempt_time"))["last"] or timezone.now()
    left = last + settings.AXES_COOLOFF_TIME - timezone.now()
    return max(1, ceil(left.total_seconds()))


def forget_attempts() -> str:
    """Delete failed logins that no longer count: a flood of made-up names must not stay."""
    old = AccessAttempt.objects.filter(attempt_time__lt=timezone.now() - settings.AXES_COOLOFF_TIME)
    return f"Forgot {old.delete()[0]}."
