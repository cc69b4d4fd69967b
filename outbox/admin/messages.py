"""Messages in the console."""

import json
from collections.abc import Iterator
from typing import Any

from django.contrib import admin
from django.contrib.auth.models import AnonymousUser, User
from django.db.models import F, OuterRef, Subquery
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import number_format
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from kilit.console.formatting import joined
from kilit.console.jobs.blockers import (
    Blocker,
    blocked,
    ended,
    failed,
    lease_holdings,
    leased,
    next_attempt,
    no_worker,
    paused,
    ready,
    waiting,
)
from kilit.console.jobs.job_page import JobDescription, JobOffer, Offers
from kilit.console.jobs.timeline import Story
from kilit.console.lists.actions import Action
from kilit.console.queue_admin import OldestRow, QueueAdmin
from kilit.lock.models import Event
from kilit.masking import mask_personal_data
from kilit.sentences import english
from kilit.sites.scopes import scope_names
from kilit.spans import moment
from outbox import operations
from outbox.admin import columns
from outbox.models import Attempt, Endpoint, OutboxMessage
from outbox.models.endpoint import OffReason, hide_query
from outbox.models.message import FAILURES, OutboxMessageQuerySet
from outbox.queue import QUEUE
from outbox.states import EXPIRES_AFTER, MessageStatus

STORY = Story(
    {
        "JOB_CREATED": gettext_lazy("Created by %(who)s"),
        "deliver": gettext_lazy("Delivered by %(who)s"),
        "retry_later": gettext_lazy("Not delivered, as reported by %(who)s"),
        "release": gettext_lazy("Put back unsent by %(who)s"),
        "expire": gettext_lazy("Failed by %(who)s: it waited too long"),
        "replay": gettext_lazy("Sent again by %(who)s"),
        "send_now": gettext_lazy("Sent without waiting, for %(who)s"),
    },
    attempts="attempt_count",
)
MOST_SHOWN = 50
RETRY = Action(
    operations.RETRY,
    title=gettext_lazy("Retry"),
    done=gettext_lazy("Retried"),
    effect=gettext_lazy("They are sent again under the same ids, with all attempts of the schedule."),
    is_done_at_once=True,
)
SEND_NOW = Action(
    operations.SEND_NOW,
    title=gettext_lazy("Send now"),
    done=gettext_lazy("Sent now"),
    effect=gettext_lazy("They are sent at once and do not wait for their next attempt; it counts as one."),
    is_done_at_once=True,
)
REPLAY = Action(
    operations.REPLAY,
    title=gettext_lazy("Send again"),
    done=gettext_lazy("Queued again"),
    effect=gettext_lazy("Receivers get them once more, under the same ids, and may ignore what they have processed."),
)
MARK_FAILED = Action(
    operations.MARK_FAILED,
    title=gettext_lazy("Mark failed"),
    done=gettext_lazy("Marked failed"),
    effect=gettext_lazy("They are not sent. They can be retried later."),
    is_dangerous=True,
)
EXPORT_FIELDS: dict[str, Any] = {
    "id": "webhook_id",
    "event": "kind",
    "receiver": "receiver",
    "siteId": "scope",
    "address": "shown_address",
    "jobId": "object_id",
    "attempts": "attempt_count",
    "status": "response_code",
    "errorCode": "error_code",
    "errorMessage": lambda row: hide_query(english(row.error_message), row.address),
    "createdAt": "created_at",
}


def belongs_to(row: OutboxMessage) -> SafeString:
    return joined(str(row.receiver), columns.site_name(row))


def reasons(row: OutboxMessage, timeline: list[Event]) -> Iterator[Blocker]:
    match row.status:
        case MessageStatus.DELIVERED if row.delivered_at:
            yield ended(_("Delivered at %(time)s.") % {"time": moment(row.delivered_at)})
        case MessageStatus.FAILED:
            yield from _failed(row)
        case MessageStatus.SENDING:
            after = _("the scheduled task outbox_recover takes it back")
            yield from leased(row, timeline, task="outbox_recover", after=after)
        case _:
            yield from _waiting(row)


def off_sentence(endpoint: Endpoint) -> str:
    return _("The endpoint is switched off: %(why)s.") % {"why": OffReason(endpoint.off_reason).label}


def _failed(row: OutboxMessage) -> Iterator[Blocker]:
    if row.endpoint and not row.endpoint.is_on:
        yield blocked(off_sentence(row.endpoint), **_endpoint_link(row.endpoint))
    yield from failed(row)


def open_endpoint(row: OutboxMessage, _offers: Offers, _user: object) -> JobOffer | None:
    return JobOffer(_("Open the endpoint"), _endpoint_link(row.endpoint)["href"]) if row.endpoint else None


def switch_on(row: OutboxMessage, _offers: Offers, user: User | AnonymousUser) -> JobOffer | None:
    if row.endpoint is None or row.endpoint.is_on or not Endpoint.objects.managed_by(user).contains(row.endpoint):
        return None
    href = reverse("admin:outbox_endpoint_switch_on", args=[row.endpoint.pk], query={"retry": row.pk})
    return JobOffer(_("Switch on and retry"), href)


def _waiting(row: OutboxMessage) -> Iterator[Blocker]:
    yield from [*paused(OutboxMessage), *_receiver(row), *no_worker(), *next_attempt(row)] or [ready(_("seconds"))]


def _receiver(row: OutboxMessage) -> Iterator[Blocker]:
    if row.channel and not row.channel.is_on:
        yield blocked(_("The channel is switched off."))
    endpoint = row.endpoint
    if endpoint is None:
        return
    if not endpoint.is_on:
        yield blocked(off_sentence(endpoint), **_endpoint_link(endpoint))
        expires_at = moment(row.updated_at + EXPIRES_AFTER)
        yield waiting(_("It fails at %(time)s if the endpoint stays off.") % {"time": expires_at})
    elif endpoint.wait_until and endpoint.wait_until > timezone.now():
        sentence = _("The receiver asked to wait until %(time)s.") % {"time": moment(endpoint.wait_until)}
        yield waiting(sentence, **_endpoint_link(endpoint))


def _endpoint_link(endpoint: Endpoint) -> dict[str, str]:
    return {"link": str(endpoint), "href": reverse("admin:outbox_endpoint_change", args=[endpoint.pk])}


def attempts_of(message: OutboxMessage) -> list[dict[str, object]]:
    newest = Attempt.objects.filter(message_id=message.pk).order_by("-id")[:MOST_SHOWN]
    return [_shown(attempt, message.address) for attempt in newest]


def _shown(attempt: Attempt, url: str) -> dict[str, object]:
    code, text = attempt.error_code, attempt.error_message
    return {
        "attempt": attempt,
        "took": _("%(number)s s") % {"number": number_format(attempt.seconds, 2)},
        "outcome": (columns.explain_code(code) or text) if code else _("Delivered."),
        "detail": hide_query(text, url) if code else "",
        "headers": {name: hide_query(str(value), url) for name, value in attempt.request_headers.items()},
        "answer": hide_query(attempt.answer, url),
    }


def pretty_body(message: OutboxMessage) -> str:
    try:
        body: Any = json.loads(message.body)
    except ValueError:  # the text of an alert
        return message.body
    return json.dumps(body, indent=2, ensure_ascii=False)


@admin.register(OutboxMessage)
class OutboxMessageAdmin(QueueAdmin):
    menu = columns.WEBHOOKS_MENU.tab(1)
    queue = QUEUE
    failures = FAILURES
    actions = (RETRY, SEND_NOW, REPLAY, MARK_FAILED)
    page = JobDescription(
        states=columns.STATES,
        story=STORY,
        name=columns.row_name,
        belongs_to=belongs_to,
        blockers=reasons,
        holdings=lease_holdings,
        is_message_hidden=True,
        steps={"endpoint": open_endpoint, "switch_on": switch_on},
        copied_fields={"webhook_id": "webhook_id", "job": "object_id"},
        more_template="admin/outbox/message.html",
        context=lambda _request, row: {"attempts": attempts_of(row), "body": pretty_body(row)},
    )
    scope_filter = "site"
    pause_title = gettext_lazy("Pause all webhooks?")
    pause_effect = gettext_lazy("No messages are sent until the queue is resumed. New ones are stored and wait.")

    list_display = columns.COLUMNS
    actions_list = [*QueueAdmin.actions_list, "pause_queue"]
    list_select_related = ["endpoint", "channel"]
    search_help_text = gettext_lazy("The id of a message, or of the job that it is about")
    fieldsets = columns.FIELDSETS
    export_fields = EXPORT_FIELDS
    export_masks = {"errorMessage": mask_personal_data}
    oldest_means = gettext_lazy("Since the message that has been due longest could have been sent.")

    def is_in_use(self, user: User | AnonymousUser) -> bool:
        return Endpoint.objects.visible_to(user).exists() or self.queue.visible_to(user).exists()

    def oldest_row(self, user: User | AnonymousUser) -> OldestRow | None:
        """Ask each endpoint for its own first message, which an index has; together they may have millions."""
        first = OutboxMessage.objects.due().filter(endpoint=OuterRef("pk")).order_by("next_try_at", "id")
        endpoints = Endpoint.objects.visible_to(user).annotate(
            oldest=Subquery(first.values("pk")[:1]),
            kind=Subquery(first.values("kind")[:1]),
            since=Subquery(first.values("next_try_at")[:1]),
        )
        found: Any = endpoints.order_by(F("since").asc(nulls_last=True)).first()
        if found is None or found.oldest is None:
            return None
        return OldestRow(found.kind, self.address("change", found.oldest), found.since, str(found))

    def get_queryset(self, request: HttpRequest) -> OutboxMessageQuerySet:
        rows: OutboxMessageQuerySet = super().get_queryset(request)
        return rows.visible_to(request.user).select_related("endpoint", "channel").defer("body")

    def complete(self, rows: list[Any]) -> None:
        names = scope_names()
        for row in rows:
            row.site_name = names.get(row.scope, row.scope)

    def acted_on_by(self, request: HttpRequest) -> OutboxMessageQuerySet:
        return OutboxMessage.objects.managed_by(request.user)
