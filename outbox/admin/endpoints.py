"""Webhook endpoints in the console: the list, the page of one, and its form."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db import connection
from django.db.models import Q
from django.forms import ModelForm
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import path, reverse
from django.utils import timezone
from django.utils.html import format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.admin import ModelAdmin

from kilit.api.webhooks import webhook_kinds
from kilit.batches.filters import FilterSet, KindFilter
from kilit.batches.queues import queues
from kilit.console.formatting import (
    ago,
    badge,
    breakable,
    column,
    exactly,
    find_object,
    link,
    new_key,
    number,
    page,
    two_lines,
    with_code,
)
from kilit.console.jobs.blockers import Blocker, blocked, ended, paused, waiting
from kilit.console.jobs.job_page import JobOffer
from kilit.console.jobs.timeline import Story
from kilit.console.lists.listing import ListAdmin
from kilit.sites.scopes import scope_names
from kilit.spans import moment
from outbox.admin import columns, endpoint_actions
from outbox.admin.endpoint_actions import may_manage, may_manage_any
from outbox.admin.endpoint_forms import EndpointForm
from outbox.endpoints import record_change
from outbox.models import Endpoint, OutboxMessage
from outbox.models.endpoint import EndpointQuerySet, OffReason
from outbox.states import EXPIRES_AFTER, SWITCH_OFF_AFTER, MessageStatus

MOST_COUNTED = 1000
LOOKED_AT = 200  # of an endpoint's newest messages

# Each count follows an index and stops at the cap.
READ = """
    SELECT endpoint.id,
      (SELECT count(*) FROM (SELECT 1 FROM outbox_outboxmessage AS message
        WHERE message.endpoint_id = endpoint.id AND message.status IN ('QUEUED', 'RETRY') LIMIT %(most)s) AS counted),
      (SELECT count(*) FROM (SELECT 1 FROM outbox_outboxmessage AS message
        WHERE message.endpoint_id = endpoint.id AND message.status = 'FAILED' LIMIT %(most)s) AS counted),
      (SELECT max(delivered_at) FROM (SELECT delivered_at FROM outbox_outboxmessage AS message
        WHERE message.endpoint_id = endpoint.id ORDER BY message.id DESC LIMIT %(looked_at)s) AS newest)
    FROM outbox_endpoint AS endpoint WHERE endpoint.id = ANY(%(ids)s)
"""
NEWEST = 10
Page = Callable[..., HttpResponse | None]
COPY_NOW = gettext_lazy("Copy the signing secret now; it cannot be viewed again:")


@dataclass(frozen=True)
class EndpointHealth:
    waiting: int = 0
    failed: int = 0
    delivered_at: datetime | None = None  # of the newest messages


def fetch_health(endpoints: Sequence[Endpoint]) -> None:
    values: Any = {"most": MOST_COUNTED + 1, "looked_at": LOOKED_AT, "ids": [endpoint.pk for endpoint in endpoints]}
    with connection.cursor() as cursor:
        cursor.execute(READ, values)
        health_by_id = {pk: EndpointHealth(*numbers) for pk, *numbers in cursor.fetchall()}
    for endpoint in endpoints:
        endpoint.health = health_by_id.get(endpoint.pk, EndpointHealth())  # type: ignore[attr-defined]


def capped(count: int) -> str:
    return number(count) if count <= MOST_COUNTED else _("more than %(most)s") % {"most": number(MOST_COUNTED)}


def list_address(endpoint: Endpoint, status: str = "") -> str:
    filters = {"endpoint": str(endpoint.pk), **({"status": status} if status else {})}
    return reverse("admin:outbox_outboxmessage_changelist", query=filters)


def count_link(endpoint: Endpoint, count: int, status: str = "") -> SafeString | str:
    return link(list_address(endpoint, status), capped(count)) if count else "0"


def state_badges(endpoint: Endpoint) -> SafeString:
    if not endpoint.is_on:
        badges = [badge(_("off"), "danger", title=str(OffReason(endpoint.off_reason).label))]
    else:
        badges = [badge(_("on"), "success")]
        if endpoint.failing_since:
            since = _("Since %(time)s") % {"time": exactly(endpoint.failing_since)}
            badges.append(badge(_("failing"), "warning", title=since))
    return format_html_join(" ", "{}", ((element,) for element in badges))


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
        blockers=list(status_of(endpoint, newest.first())),
        tiles=_tiles(endpoint, health),
        delivered_at=health.delivered_at,
        delivered_href=list_address(endpoint, MessageStatus.DELIVERED),
        facts=list(_facts(endpoint, manages=manages)),
        kinds=[(name, webhook_kinds[name].about if name in webhook_kinds else "") for name in endpoint.kinds],
        newest=[_message(message) for message in newest],
        manages=manages,
        offers=list(_offers(endpoint, may_delete=model_admin.has_delete_permission(request, endpoint))),
    )


def _offers(endpoint: Endpoint, *, may_delete: bool) -> Iterator[JobOffer]:
    """Yield what the menu offers beside the buttons."""
    if endpoint.is_on:
        yield JobOffer(_("Replay a time span"), endpoint_actions.page_of(endpoint, "replay"))
    yield JobOffer(_("Rotate the secret"), endpoint_actions.page_of(endpoint, "rotate_secret"))
    if endpoint.is_on:
        yield JobOffer(_("Switch off"), endpoint_actions.page_of(endpoint, "switch_off"))
    if may_delete:
        yield JobOffer(_("Delete"), endpoint_actions.page_of(endpoint, "delete"), is_dangerous=True)


def status_of(endpoint: Endpoint, last: OutboxMessage | None) -> Iterator[Blocker]:
    yield from paused(OutboxMessage)
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
        values = {"time": exactly(endpoint.failing_since), "why": columns.explain_code(last.error_code) if last else ""}
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
        "state": columns.STATES.badge(message.status),
        "attempts": message.attempt_count,
        "error": with_code(
            queues[message.lifecycle.queue].words(message.error_code, message.status), message.error_code
        ),
        "at": message.created_at,
    }


def _name(endpoint: Endpoint) -> SafeString:
    return two_lines(str(endpoint), endpoint.shown_url if endpoint.description else "")


def _events(endpoint: Endpoint) -> str:
    return ", ".join(endpoint.kinds) or _("callbacks only")


name = column("name", gettext_lazy("endpoint"), _name)
site = column("site", gettext_lazy("site"), columns.site_name)
events = column("events", gettext_lazy("events"), _events)
state = column("state", gettext_lazy("state"), state_badges)
delivered = column("delivered", gettext_lazy("last delivery"), lambda row: ago(row.health.delivered_at))
waiting_count = column(
    "waiting",
    gettext_lazy("waiting"),
    lambda row: count_link(row, row.health.waiting),
    sort_key=lambda row: row.health.waiting,
)
failed_count = column(
    "failed",
    gettext_lazy("failed"),
    lambda row: count_link(row, row.health.failed, MessageStatus.FAILED),
    sort_key=lambda row: row.health.failed,
)
STATES = KindFilter(
    name="status",
    title=gettext_lazy("state"),
    kinds={
        "on": (gettext_lazy("On"), Q(is_on=True)),
        "failing": (gettext_lazy("Failing"), Q(is_on=True, failing_since__isnull=False)),
        "off": (gettext_lazy("Off"), Q(is_on=False)),
    },
)


@admin.register(Endpoint)
class EndpointAdmin(ListAdmin):
    menu = columns.WEBHOOKS_MENU.tab(0, gettext_lazy("Endpoints"))
    is_searched = True  # by Ctrl+K
    form = EndpointForm
    list_display = [name, state, site, events, delivered, waiting_count, failed_count]
    filters = FilterSet((STATES,))
    search_fields = ["description__words"]
    search_help_text = gettext_lazy("A word of the description")
    actions = None
    add_fields = ["url", "description", "kinds", "scope"]

    # What is shown

    def get_queryset(self, request: HttpRequest) -> EndpointQuerySet:
        rows: EndpointQuerySet = super().get_queryset(request)
        return rows.visible_to(request.user)

    def complete(self, rows: list[Any]) -> None:
        fetch_health(rows)
        names = scope_names()
        for endpoint in rows:
            endpoint.site_name = names.get(endpoint.scope, endpoint.scope)

    def change_view(self, request: HttpRequest, object_id: str, *args: object, **options: object) -> HttpResponse:
        endpoint: Endpoint = find_object(self, request, object_id)
        if request.method not in ("GET", "HEAD"):
            raise PermissionDenied
        return overview(self, request, endpoint)

    def settings_page(self, request: HttpRequest, endpoint: Endpoint) -> HttpResponse:
        return super().change_view(request, str(endpoint.pk))

    def delete_view(self, request: HttpRequest, object_id: str, extra_context: object = None) -> HttpResponse:
        find_object(self, request, object_id)
        return super().delete_view(request, object_id, extra_context)

    def history_view(self, request: HttpRequest, object_id: str, extra_context: object = None) -> HttpResponse:
        """Lead to the activity, where changes are recorded for those who see the endpoint."""
        endpoint: Endpoint = find_object(self, request, object_id)
        filters = {"site": endpoint.scope} if endpoint.scope else None
        return HttpResponseRedirect(reverse("admin:lock_activity_changelist", query=filters))

    def get_urls(self) -> list[object]:
        pages: dict[str, Page] = {
            "settings": EndpointAdmin.settings_page,
            "switch_on": partial(endpoint_actions.switch_page, on=True),
            "switch_off": partial(endpoint_actions.switch_page, on=False),
            "rotate_secret": endpoint_actions.rotate_secret,
            "send_test": endpoint_actions.send_test_page,
            "replay": endpoint_actions.replay_page,
        }
        own = []
        for name, view in pages.items():
            route, show = f"<path:object_id>/{name.replace('_', '-')}/", partial(self.managers_page, view)
            own.append(path(route, self.admin_site.admin_view(show), name=f"outbox_endpoint_{name}"))
        return own + super().get_urls()

    def managers_page(self, view: Page, request: HttpRequest, object_id: str) -> HttpResponse:
        """Show a page of those who manage the endpoint; one that returns no response leads back to the endpoint's."""
        endpoint: Endpoint = find_object(self, request, object_id, allowed=may_manage)
        return view(self, request, endpoint) or HttpResponseRedirect(endpoint_actions.page_of(endpoint))

    # What may be changed

    def has_change_permission(self, request: HttpRequest, obj: Endpoint | None = None) -> bool:
        return self.has_add_permission(request) if obj is None else may_manage(request.user, obj)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Ask the database once a request; a page asks several times."""
        permissions: dict[str, bool] = request.__dict__.setdefault("may_act_in", {})
        if self.opts.label_lower not in permissions:
            permissions[self.opts.label_lower] = may_manage_any(request.user)
        return permissions[self.opts.label_lower]

    def has_delete_permission(self, request: HttpRequest, obj: Endpoint | None = None) -> bool:
        """Delete only what has no messages: their pages show the endpoint, and they are pruned on their own."""
        return obj is not None and may_manage(request.user, obj) and not obj.messages.exists()

    def get_fields(self, request: HttpRequest, obj: Endpoint | None = None) -> list[str]:
        return self.add_fields[:-1] if obj else self.add_fields  # its messages keep the site

    def get_form(
        self, request: HttpRequest, obj: Endpoint | None = None, change: bool = False, **options: object
    ) -> Any:
        form = super().get_form(request, obj, change, **options)
        form.user = request.user
        return form

    def save_model(self, request: HttpRequest, obj: Endpoint, form: ModelForm[Endpoint], change: bool) -> None:
        """Create the secret of a new endpoint, and show it once; save only what was changed on the page."""
        if change:
            obj.save(update_fields=form.changed_data)
            return
        secret = obj.make_secret()
        obj.save()
        messages.warning(request, new_key(str(COPY_NOW), secret))

    def response_add(self, request: HttpRequest, obj: Endpoint, post_url_continue: object = None) -> HttpResponse:
        return HttpResponseRedirect(endpoint_actions.page_of(obj))

    def response_change(self, request: HttpRequest, obj: Endpoint) -> HttpResponse:
        messages.success(request, _("Saved."))
        return HttpResponseRedirect(endpoint_actions.page_of(obj))

    # Changes are recorded with their site, so that its members see them. Values, which may be secret, are not.

    def log_addition(self, request: HttpRequest, obj: Endpoint, message: object) -> None:
        record_change(obj, "added")

    def log_change(self, request: HttpRequest, obj: Endpoint, message: object) -> None:
        record_change(obj, "changed", message if isinstance(message, str) else json.dumps(message))

    def log_deletions(self, request: HttpRequest, queryset: Any) -> None:
        for endpoint in queryset:
            record_change(endpoint, "deleted")
