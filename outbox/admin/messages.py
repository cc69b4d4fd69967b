"""Messages in the console."""

from dataclasses import replace
from typing import Any

from django.contrib import admin
from django.contrib.admin.utils import unquote
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from kilit.access.scopes import scope_names
from kilit.console.dashboard.queue_pauses import PausableQueueAdmin
from kilit.console.jobs.blockers import lease_holdings
from kilit.console.jobs.job_page import ShownError
from kilit.console.lists.actions import Action
from kilit.console.lists.error_groups import ErrorGroupRow
from kilit.console.lists.listing import CappedChangeList
from kilit.lock.models.error_groups import Group
from kilit.masking import mask_personal_data
from outbox import operations
from outbox.admin import blockers, columns, description
from outbox.admin.attempts import attempts_of, pretty_body
from outbox.error_meanings import explain_code
from outbox.models import OutboxMessage
from outbox.models.endpoint import hide_query
from outbox.models.message import FAILURES, OutboxMessageQuerySet
from outbox.states import MessageStatus

RETRY = Action(
    operations.RETRY,
    title=_("Retry"),
    done=_("Retried"),
    effect=_("They are sent again under the same ids, with all attempts of the schedule."),
    icon="replay",
    is_done_at_once=True,
)
REPLAY = Action(
    operations.REPLAY,
    title=_("Send again"),
    done=_("Queued again"),
    effect=_("Receivers get them once more, under the same ids, and may ignore what they have processed."),
    icon="forward_to_inbox",
)
MARK_FAILED = Action(
    operations.MARK_FAILED,
    title=_("Mark failed"),
    done=_("Marked failed"),
    effect=_("They are not sent. They can be retried later."),
    icon="cancel",
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
    "errorMessage": lambda row: hide_query(row.error_message, row.address),
    "createdAt": "created_at",
}


class MessageChangeList(CappedChangeList):
    """Fetches the names of the sites for all rows of a page at once."""

    result_list: Any

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        self.result_list, names = list(self.result_list), scope_names()
        for row in self.result_list:
            row.site_name = names.get(row.scope, row.scope)


@admin.register(OutboxMessage)
class OutboxMessageAdmin(PausableQueueAdmin):
    queue = operations.QUEUE
    state_badge = staticmethod(columns.state_badge)
    description = description.MESSAGE
    find_blockers = staticmethod(blockers.reasons)
    find_holdings = staticmethod(lease_holdings)
    failures = FAILURES
    row_name = staticmethod(columns.row_name)
    operator_actions = (RETRY, REPLAY, MARK_FAILED)
    scope_filter = "site"
    pause_title = _("Pause all webhooks?")
    pause_effect = _("No messages are sent until the queue is resumed. New ones are stored and wait.")

    list_display = columns.COLUMNS
    list_select_related = ["endpoint", "channel"]
    search_help_text = _("The id of a message, or of the job that it is about")
    more_template = "admin/outbox/message.html"
    fieldsets = columns.FIELDSETS
    export_fields = EXPORT_FIELDS
    export_masks = {"errorMessage": mask_personal_data}
    export_states = [MessageStatus.FAILED]

    def get_queryset(self, request: HttpRequest) -> OutboxMessageQuerySet:
        rows: OutboxMessageQuerySet = super().get_queryset(request)
        return rows.visible_to(request.user).select_related("endpoint", "channel").defer("body")

    def get_changelist(self, request: HttpRequest, **options: object) -> type[CappedChangeList]:
        return MessageChangeList

    def detail_context(self, row: OutboxMessage) -> dict[str, Any]:
        return {**super().detail_context(row), "attempts": attempts_of(row), "body": pretty_body(row)}

    def _error(self, row: OutboxMessage) -> ShownError | None:
        """Show what the code means in the reader's language; the stored sentence is the same in English."""
        error = super()._error(row)
        return replace(error, message="") if error and error.meaning else error

    def _shown(self, group: Group, *args: Any, **options: Any) -> ErrorGroupRow:
        return super()._shown(group._replace(shape=explain_code(group.code) or group.shape), *args, **options)

    def acted_on_by(self, request: HttpRequest) -> OutboxMessageQuerySet:
        return OutboxMessage.objects.managed_by(request.user)

    def has_operate_permission(self, request: HttpRequest, object_id: str | None = None) -> bool:
        allowed = super().has_operate_permission(request)
        if not allowed or object_id is None:
            return allowed
        pk = self.read_id(unquote(object_id))
        return pk is not None and self.acted_on_by(request).filter(pk=pk).exists()
