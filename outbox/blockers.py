"""What blocks a message: its receiver, a pause, or the workers; and what blocks an endpoint."""

from collections.abc import Iterator

from django.utils import timezone
from django.utils.translation import gettext as _

from kilit.lock.audit import actor_in_words
from kilit.lock.models import Event
from kilit.problems import blockers
from kilit.problems.blockers import Blocker
from kilit.problems.links import row_path
from kilit.spans import moment
from outbox.errors import ERRORS
from outbox.models import Endpoint, OutboxMessage
from outbox.models.endpoint import OffReason
from outbox.states import EXPIRES_AFTER, SWITCH_OFF_AFTER, MessageStatus


def reasons(row: OutboxMessage, timeline: list[Event]) -> Iterator[Blocker]:
    match row.status:
        case MessageStatus.DELIVERED if row.delivered_at:
            yield blockers.ended(_("Delivered at %(time)s.") % {"time": moment(row.delivered_at)})
        case MessageStatus.FAILED:
            if row.endpoint and not row.endpoint.is_on:
                yield blockers.blocked(off_sentence(row.endpoint), **endpoint_link(row.endpoint))
            yield from blockers.failed(row)
        case MessageStatus.SENDING:
            after = _("the scheduled task outbox_recover takes it back")
            yield from blockers.leased(row, timeline, task="outbox_recover", after=after)
        case _:
            causes = [*blockers.paused(OutboxMessage), *_receiver(row), *blockers.no_worker()]
            yield from [*causes, *blockers.next_attempt(row)] or [blockers.ready(_("seconds"))]


def off_sentence(endpoint: Endpoint) -> str:
    return _("The endpoint is switched off: %(why)s.") % {"why": OffReason(endpoint.off_reason).label}


def _receiver(row: OutboxMessage) -> Iterator[Blocker]:
    if row.channel and not row.channel.is_on:
        yield blockers.blocked(_("The channel is switched off."))
    endpoint = row.endpoint
    if endpoint is None:
        return
    if not endpoint.is_on:
        yield blockers.blocked(off_sentence(endpoint), **endpoint_link(endpoint))
        expires_at = moment(row.updated_at + EXPIRES_AFTER)
        yield blockers.waiting(_("It fails at %(time)s if the endpoint stays off.") % {"time": expires_at})
    elif endpoint.wait_until and endpoint.wait_until > timezone.now():
        sentence = _("The receiver asked to wait until %(time)s.") % {"time": moment(endpoint.wait_until)}
        yield blockers.waiting(sentence, **endpoint_link(endpoint))


def endpoint_link(endpoint: Endpoint) -> dict[str, str]:
    return {"link": str(endpoint), "href": row_path(endpoint)}


def explain_code(code: str) -> str:
    return _(ERRORS[code].cause) if code in ERRORS else ""


def endpoint_reasons(endpoint: Endpoint, last: OutboxMessage | None) -> Iterator[Blocker]:
    yield from blockers.paused(OutboxMessage)
    if not endpoint.is_on:
        by = actor_in_words(endpoint.off_by) if endpoint.off_reason == OffReason.OPERATOR else ""
        off_at = moment(endpoint.off_at) if endpoint.off_at else ""
        values = {"time": off_at, "why": OffReason(endpoint.off_reason).label}
        yield blockers.blocked(_("Off since %(time)s: %(why)s.") % values + (f" ({by})" if by else ""))
        text = _("Events are not reported. Messages that wait are kept for %(days)s days, then they fail.")
        yield blockers.blocked(text % {"days": EXPIRES_AFTER.days})
        yield blockers.waiting(_("Fix the receiver, switch the endpoint on, then replay the time it was off."))
        return
    if endpoint.failing_since:
        values = {"time": moment(endpoint.failing_since), "why": explain_code(last.error_code) if last else ""}
        yield blockers.blocked((_("It has failed since %(time)s. %(why)s") % values).strip())
        off_at = moment(endpoint.failing_since + SWITCH_OFF_AFTER)
        text = _("It is switched off at %(time)s unless a message is delivered before.")
        yield blockers.waiting(text % {"time": off_at})
    if endpoint.wait_until and endpoint.wait_until > timezone.now():
        sentence = _("The receiver asked to wait until %(time)s.")
        yield blockers.waiting(sentence % {"time": moment(endpoint.wait_until)})
    if not endpoint.failing_since:
        yield blockers.ended(_("On. Events are reported as they happen."))
