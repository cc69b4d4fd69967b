"""What a message's page calls its states, events and errors."""

from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from kilit.console.dashboard.queue_pauses import PAUSE_SENTENCES
from kilit.console.formatting import joined
from kilit.console.jobs.job_page import JobDescription
from kilit.console.jobs.timeline import Story
from outbox.admin.columns import site_name
from outbox.error_meanings import explain_code
from outbox.models import OutboxMessage
from outbox.states import MessageStatus

LABELS = {
    MessageStatus.QUEUED: _("Waiting"),
    MessageStatus.SENDING: _("Being sent"),
    MessageStatus.RETRY: _("Sent again later"),
    MessageStatus.DELIVERED: _("Delivered"),
    MessageStatus.FAILED: _("Failed"),
}
STORY = Story(
    {
        "JOB_CREATED": _("Created by %(who)s"),
        "claim": _("Claimed by %(who)s"),
        "deliver": _("Delivered by %(who)s"),
        "retry_later": _("Not delivered, as reported by %(who)s"),
        "fail": _("Failed, as reported by %(who)s"),
        "release": _("Put back unsent by %(who)s"),
        "recover": _("Taken back by %(who)s"),
        "expire": _("Failed by %(who)s: it waited too long"),
        "retry": _("Retried by %(who)s"),
        "replay": _("Sent again by %(who)s"),
        "mark_failed": _("Marked failed by %(who)s"),
        **PAUSE_SENTENCES,
    },
    attempts="attempt_count",
)


def belongs_to(row: OutboxMessage) -> SafeString:
    return joined(str(row.receiver), site_name(row))


MESSAGE = JobDescription(
    belongs_to=belongs_to,
    state_labels=LABELS,
    way=(MessageStatus.QUEUED, MessageStatus.SENDING, MessageStatus.DELIVERED),
    story=STORY,
    explain_error=lambda row: explain_code(row.error_code),
    copied_fields={"webhook_id": "webhook_id", "job": "object_id"},
)
