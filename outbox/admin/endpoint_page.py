"""The page of an endpoint: whether it works, what it receives, and its newest messages."""

from collections.abc import Iterator
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from unfold.admin import ModelAdmin

from kilit.api.webhooks import webhook_kinds
from kilit.console.formatting import badge, breakable, exactly, page
from kilit.console.jobs.blockers import Blocker, blocked, ended, paused, waiting
from kilit.console.jobs.timeline import Story
from kilit.spans import moment
from outbox.admin import columns
from outbox.admin.endpoint_health import capped, fetch_health, list_address
from outbox.admin.endpoint_permissions import may_manage
from outbox.error_meanings import explain_code
from outbox.models import Endpoint, OutboxMessage
from outbox.models.endpoint import OffReason
from outbox.states import EXPIRES_AFTER, MESSAGES, SWITCH_OFF_AFTER, MessageStatus

NEWEST = 10


def state_badges(endpoint: Endpoint) -> SafeString:
    if not endpoint.is_on:
        badges = [badge(_("off"), "danger", title=str(OffReason(endpoint.off_reason).label))]
    else:
        badges = [badge(_("on"), "success")]
        if endpoint.failing_since:
            since = _("Since %(time)s") % {"time": exactly(endpoint.failing_since)}
            badges.append(badge(_("failing"), "warning", title=since))
    return format_html_join(" ", "{}", ((one,) for one in badges))


def overview(model_admin: ModelAdmin, request: HttpRequest, endpoint: Endpoint) -> HttpResponse:
    fetch_health([endpoint])
    manages = may_manage(request.user, endpoint)
    newest = OutboxMessage.objects.filter(endpoint=endpoint).defer("body").order_by("-id")[:NEWEST]
    health: Any = endpoint.health  # type: ignore[attr-defined]
    return page(
        model_admin,
        request,
        "admin/outbox/endpoint.html",
        title=str(endpoint),
        is_own_page=True,
        crumb_names_row=True,
        original=endpoint,
        state=state_badges(endpoint),
        site=columns.site_name(endpoint),
        status=list(status_of(endpoint, newest.first())),
        tiles=_tiles(endpoint, health),
        delivered_at=health.delivered_at,
        delivered_href=list_address(endpoint, MessageStatus.DELIVERED),
        facts=list(_facts(endpoint, manages=manages)),
        kinds=[(name, webhook_kinds[name].about if name in webhook_kinds else "") for name in endpoint.kinds],
        newest=[_message(message) for message in newest],
        manages=manages,
        may_delete=model_admin.has_delete_permission(request, endpoint),
    )


def status_of(endpoint: Endpoint, last: OutboxMessage | None) -> Iterator[Blocker]:
    """Return whether messages get through, and otherwise why not, what happens next and what to do."""
    yield from paused(MESSAGES, reverse("admin:outbox_outboxmessage_changelist"))
    if not endpoint.is_on:
        by = Story().who(endpoint.off_by) if endpoint.off_reason == OffReason.OPERATOR else ""
        off_at = exactly(endpoint.off_at) if endpoint.off_at else ""
        values = {"time": off_at, "why": OffReason(endpoint.off_reason).label}
        yield blocked(_("Off since %(time)s: %(why)s.") % values + (f" ({by})" if by else ""))
        days = {"days": EXPIRES_AFTER.days}
        yield blocked(
            _("Events are not reported. Messages that wait are kept for %(days)s days, then they fail.") % days
        )
        yield waiting(_("Fix the receiver, switch the endpoint on, then replay the time it was off."))
        return
    if endpoint.failing_since:
        values = {"time": exactly(endpoint.failing_since), "why": explain_code(last.error_code) if last else ""}
        yield blocked((_("It has failed since %(time)s. %(why)s") % values).strip())
        off_at = moment(endpoint.failing_since + SWITCH_OFF_AFTER)
        yield waiting(_("It is switched off at %(time)s unless a message is delivered before.") % {"time": off_at})
    if endpoint.wait_until and endpoint.wait_until > timezone.now():
        yield waiting(_("The receiver asked to wait until %(time)s.") % {"time": moment(endpoint.wait_until)})
    if not endpoint.failing_since:
        yield ended(_("On. Events are reported as they happen."))


def _tiles(endpoint: Endpoint, health: Any) -> list[tuple[str, str, str, bool]]:
    failed = list_address(endpoint, MessageStatus.FAILED)
    return [
        (_("Waiting"), capped(health.waiting), list_address(endpoint), bool(health.waiting)),
        (_("Failed"), capped(health.failed), failed, bool(health.failed)),
    ]


def _facts(endpoint: Endpoint, *, manages: bool) -> Iterator[tuple[str, object]]:
    # The query of an address may be secret: it is for those who may change it.
    yield _("Address"), breakable(endpoint.url if manages else endpoint.shown_url)
    yield _("Site"), columns.site_name(endpoint)
    yield _("Signing secret"), _("Encrypted; it cannot be viewed again.")
    if endpoint.previous_until and endpoint.previous_until > timezone.now():
        yield _("Previous secret"), _("Signs too, until %(time)s.") % {"time": moment(endpoint.previous_until)}
    yield _("Created"), exactly(endpoint.created_at)


def _message(message: OutboxMessage) -> dict[str, object]:
    return {
        "name": columns.row_name(message),
        "href": reverse("admin:outbox_outboxmessage_change", args=[message.pk]),
        "state": columns.state_badge(message.status),
        "attempts": message.attempt_count,
        "error": message.error_code,
        "meaning": explain_code(message.error_code),
        "at": message.created_at,
    }
