"""Columns and fields of a message in the console, without the query of an address, which may be secret."""

from typing import Any

from django.utils import timezone
from django.utils.formats import number_format
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from kilit.console.formatting import breakable, column, distance, error_cell, exactly, since, two_lines
from kilit.console.jobs.states import States
from kilit.console.menu import OPERATORS, MenuItem
from kilit.sites.scopes import scope_names
from outbox.errors import ERRORS
from outbox.models import OutboxMessage
from outbox.states import MESSAGES, WAITING, MessageStatus

WEBHOOKS_MENU = MenuItem(_("Webhooks"), "webhook", 60, OPERATORS)
STATES = States(MESSAGES, colours={MessageStatus.RETRY: "warning"})


def explain_code(code: str) -> str:
    return gettext(ERRORS[code].cause) if code in ERRORS else ""


def row_name(row: OutboxMessage) -> str:
    return f"{row.kind} …{row.webhook_id[-8:]}"


def site_name(row: Any) -> str:
    """Return the name of the site that a message or an endpoint belongs to; lists have fetched it for all rows."""
    if not row.scope:
        return gettext("Installation")
    name = getattr(row, "site_name", None)
    return name if name is not None else scope_names().get(row.scope, row.scope)


def _next_attempt(row: OutboxMessage) -> str:
    if row.status not in WAITING:
        return ""
    if row.next_try_at <= timezone.now():
        return gettext("now")
    return gettext("in %(span)s") % {"span": distance(row.next_try_at)}


def _attempts(row: OutboxMessage) -> SafeString:
    when = _next_attempt(row)
    following = gettext("next: %(when)s") % {"when": when} if when else ""
    return two_lines(number_format(row.attempt_count), following, title=exactly(row.next_try_at) if when else "")


name = column("name", _("event"), lambda row: two_lines(row.kind, f"…{row.webhook_id[-12:]}", title=row.webhook_id))
state = column("state", _("state"), lambda row: STATES.badge(row.status))
endpoint = column("endpoint", _("receiver"), lambda row: two_lines(str(row.receiver), site_name(row)))
attempts = column("attempts", _("attempts"), _attempts)
next_attempt = column("next_attempt", _("next attempt"), lambda row: _next_attempt(row) or "-")
error = column("error", _("error"), lambda row: error_cell(row, row.error_code, row.error_message))
age = column("age", _("age"), lambda row: since(row.created_at), order="id")
site = column("site", _("site"), site_name)
address = column("address", _("address"), lambda row: breakable(row.shown_address) or "-")
webhook_id = column("webhook_id", _("message id"), lambda row: breakable(row.webhook_id))
job = column("job", _("job"), lambda row: breakable(str(row.object_id)) if row.object_id else "-")
# Columns are functions, so Django does not sort by them, which would read the whole table.
COLUMNS = [name, state, endpoint, attempts, error, age]
FIELDSETS: Any = [
    (None, {"fields": ["kind", "endpoint", "channel", site, address, webhook_id, job]}),
    (_("Last attempt"), {"fields": ["response_code", "error_code", "error_message"]}),
    (_("Times"), {"fields": ["created_at", "attempt_count", next_attempt, "delivered_at"]}),
]
