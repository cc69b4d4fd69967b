"""Messages in the console, without the query of an address, which may be secret."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from django.contrib import admin
from django.contrib.auth.models import AnonymousUser, User
from django.db.models import Q
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import number_format
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from kilit.console.formatting import breakable, column, error_cell, exactly, joined, two_lines
from kilit.console.jobs.job_page import JobDescription, JobOffer, Offers
from kilit.console.jobs.states import States
from kilit.console.jobs.timeline import Story
from kilit.console.lists.actions import Action
from kilit.console.menu import OPERATORS, MenuItem
from kilit.console.queue_admin import QueueAdmin
from kilit.machine_errors import in_words
from kilit.masking import mask_personal_data
from kilit.problems.blockers import lease_holdings
from kilit.problems.links import row_path
from kilit.sentences import english
from kilit.sites.scopes import scope_names
from kilit.spans import distance
from outbox import operations
from outbox.blockers import explain_code, reasons
from outbox.models import Attempt, Endpoint, OutboxMessage
from outbox.models.endpoint import hide_query
from outbox.models.message import OutboxMessageQuerySet
from outbox.queue import QUEUE
from outbox.states import MESSAGES, WAITING, MessageStatus

# Of endpoints and channels.
ON_OR_OFF = {"on": (gettext_lazy("On"), Q(is_on=True)), "off": (gettext_lazy("Off"), Q(is_on=False))}
WEBHOOKS_MENU = MenuItem(gettext_lazy("Webhooks"), "webhook", 60, OPERATORS)
STATES = States(MESSAGES, colours={MessageStatus.RETRY: "warning"})


def row_name(row: OutboxMessage) -> str:
    return f"{row.kind} …{row.webhook_id[-8:]}"


def site_name(row: Any) -> str:
    """Return the name of the site that a message or an endpoint belongs to; lists have fetched it for all rows."""
    if not row.scope:
        return _("Installation")
    name = getattr(row, "site_name", None)
    return name if name is not None else scope_names().get(row.scope, row.scope)


def fetch_site_names(rows: Iterable[Any]) -> None:
    names = scope_names()
    for row in rows:
        row.site_name = names.get(row.scope, row.scope)


def _next_attempt(row: OutboxMessage) -> str:
    if row.status not in WAITING:
        return ""
    if row.next_try_at <= timezone.now():
        return _("now")
    return _("in %(span)s") % {"span": distance(row.next_try_at)}


def _attempts(row: OutboxMessage) -> SafeString:
    when = _next_attempt(row)
    following = _("next: %(when)s") % {"when": when} if when else ""
    return two_lines(number_format(row.attempt_count), following, title=exactly(row.next_try_at) if when else "")


name = column(
    "name", gettext_lazy("event"), lambda row: two_lines(row.kind, f"…{row.webhook_id[-12:]}", title=row.webhook_id)
)
state = column("state", gettext_lazy("state"), lambda row: STATES.badge(row.status))
endpoint = column("endpoint", gettext_lazy("receiver"), lambda row: two_lines(str(row.receiver), site_name(row)))
attempts = column("attempts", gettext_lazy("attempts"), _attempts)
next_attempt = column("next_attempt", gettext_lazy("next attempt"), lambda row: _next_attempt(row) or "-")
error = column("error", gettext_lazy("error"), lambda row: error_cell(row, row.error_code, row.error_message))
whole_error = column("error_message", gettext_lazy("message"), lambda row: in_words(row.error_message) or "-")
site = column("site", gettext_lazy("site"), site_name)
address = column("address", gettext_lazy("address"), lambda row: breakable(row.shown_address) or "-")
webhook_id = column("webhook_id", gettext_lazy("message id"), lambda row: breakable(row.webhook_id))
job = column("job", gettext_lazy("job"), lambda row: breakable(str(row.object_id)) if row.object_id else "-")
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


def open_endpoint(row: OutboxMessage, _offers: Offers, _user: object) -> JobOffer | None:
    return JobOffer(_("Open the endpoint"), row_path(row.endpoint)) if row.endpoint else None


def switch_on(row: OutboxMessage, _offers: Offers, user: User | AnonymousUser) -> JobOffer | None:
    if row.endpoint is None or row.endpoint.is_on or not Endpoint.objects.managed_by(user).contains(row.endpoint):
        return None
    href = reverse("admin:outbox_endpoint_switch_on", args=[row.endpoint.pk], query={"retry": row.pk})
    return JobOffer(_("Switch on and retry"), href)


def attempts_of(message: OutboxMessage) -> Iterator[dict[str, object]]:
    url = message.address
    for attempt in Attempt.objects.filter(message_id=message.pk).order_by("-id")[:MOST_SHOWN]:
        code, text = attempt.error_code, attempt.error_message
        yield {
            "attempt": attempt,
            "took": _("%(number)s s") % {"number": number_format(attempt.seconds, 2)},
            "outcome": (explain_code(code) or text) if code else _("Delivered."),
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
    menu = WEBHOOKS_MENU.tab(1)
    queue = QUEUE
    actions = (RETRY, SEND_NOW, REPLAY, MARK_FAILED)
    page = JobDescription(
        states=STATES,
        story=STORY,
        name=row_name,
        belongs_to=lambda row: joined(str(row.receiver), site_name(row)),
        blockers=reasons,
        holdings=lease_holdings,
        is_message_hidden=True,
        steps={"endpoint": open_endpoint, "switch_on": switch_on},
        copied_fields={"webhook_id": "webhook_id", "job": "object_id"},
        more_template="admin/outbox/message.html",
        context=lambda _request, row: {"attempts": list(attempts_of(row)), "body": pretty_body(row)},
    )
    scope_filter = "site"
    pause_title = gettext_lazy("Pause all webhooks?")
    pause_effect = gettext_lazy("No messages are sent until the queue is resumed. New ones are stored and wait.")

    # Columns are functions, so Django does not sort by them, which would read the whole table.
    list_display = [name, "state", endpoint, attempts, "error", "age"]
    list_select_related = ["endpoint", "channel"]
    search_help_text = gettext_lazy("The id of a message, or of the job that it is about")
    fieldsets = [
        (None, {"fields": ["kind", "endpoint", "channel", site, address, webhook_id, job]}),
        (gettext_lazy("Last attempt"), {"fields": ["response_code", "error_code", whole_error]}),
        (gettext_lazy("Times"), {"fields": ["created_at", "attempt_count", next_attempt, "delivered_at"]}),
    ]
    export_fields = {
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
    export_masks = {"errorMessage": mask_personal_data}
    oldest_means = gettext_lazy("Since the message that has been due longest could have been sent.")

    def is_in_use(self, user: User | AnonymousUser) -> bool:
        return Endpoint.objects.visible_to(user).exists() or self.queue.visible_to(user).exists()

    def get_queryset(self, request: HttpRequest) -> OutboxMessageQuerySet:
        rows: OutboxMessageQuerySet = super().get_queryset(request)
        return rows.visible_to(request.user).select_related("endpoint", "channel").defer("body")

    def complete(self, rows: list[Any]) -> None:
        fetch_site_names(rows)
