"""What is blocking a message, for its page."""

from collections.abc import Iterator

from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from kilit.console.jobs.blockers import (
    Blocker,
    blocked,
    ended,
    held,
    no_worker,
    overdue,
    paused,
    ready,
    waiting,
)
from kilit.lock.models import Event
from kilit.spans import moment
from outbox.models import Endpoint, OutboxMessage
from outbox.models.endpoint import OffReason
from outbox.states import EXPIRES_AFTER, MESSAGES, MessageStatus


def reasons(row: OutboxMessage, timeline: list[Event]) -> Iterator[Blocker]:
    match row.status:
        case MessageStatus.DELIVERED if row.delivered_at:
            yield ended(_("Delivered at %(time)s.") % {"time": moment(row.delivered_at)})
        case MessageStatus.FAILED:
            yield from _failed(row)
        case MessageStatus.SENDING if row.lease_until:
            yield held(row.lease_until, timeline, after=_("the scheduled task outbox_recover takes it back"))
            if row.lease_until < timezone.now():
                yield from overdue("outbox_recover") or no_worker()
        case _:
            yield from _waiting(row)


def off_sentence(endpoint: Endpoint) -> str:
    return _("The endpoint is switched off: %(why)s.") % {"why": OffReason(endpoint.off_reason).label}


def _failed(row: OutboxMessage) -> Iterator[Blocker]:
    yield blocked(_("Failed. It will not be retried automatically."))
    if row.endpoint and not row.endpoint.is_on:
        yield blocked(off_sentence(row.endpoint), **_endpoint_link(row.endpoint))
        yield blocked(_("Switch the endpoint on, then Retry. It is sent under the same id."))
    else:
        yield blocked(_("Fix the cause at the receiver, then Retry. It is sent under the same id."))


def _waiting(row: OutboxMessage) -> Iterator[Blocker]:
    found = [*paused(MESSAGES, reverse("admin:outbox_outboxmessage_changelist")), *_receiver(row), *no_worker()]
    if row.next_try_at > timezone.now():
        values = {"number": row.attempt_count + 1, "time": moment(row.next_try_at)}
        found.append(waiting(_("Attempt %(number)s is made at %(time)s.") % values))
    yield from found or [ready(_("seconds"))]


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
