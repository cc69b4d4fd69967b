"""Makes the alerts: for each channel, what is new since its last messages.

The messages, the note which problems were reported and the time of this look are stored in one transaction, and the
lock on the channel's row admits one maker at a time. So a maker that is killed has done all of it or nothing, and no
alert is lost or made twice.
"""

import logging
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models.functions import Now
from pydantic_core import to_json

from kilit.lock.clock import database_time
from kilit.problems.models import ProblemRecord
from kilit.workers import doorbells
from outbox.alerts.changes import Change, ChangeKind, find_changes
from outbox.alerts.texts import AlertText, text_of_changes, text_of_test
from outbox.models import AlertedProblem, Channel, OutboxMessage

if TYPE_CHECKING:
    from uuid import UUID

logger = logging.getLogger(__name__)

BELL = "alerts"
MOST_SINGLE = 3  # more than these at once become a digest
DIGEST, TEST = "alert.digest", "alert.test"


class AlertsNotMade(Exception):
    """Some channels got no alerts this time; the next look tries again."""


def channel_owners() -> Iterable[User]:
    """Return whose problems are tracked besides those of the installation."""
    return User.objects.filter(pk__in=Channel.objects.on().exclude(owner=None).values("owner"))


def make_alerts(**_: object) -> None:
    """Make the alerts of all channels; called after each look for problems."""
    on = list(Channel.objects.on().values_list("pk", flat=True))
    # A channel that is switched on again begins with what is open then.
    if Channel.objects.exclude(pk__in=on).update(looked_at=Now()):
        AlertedProblem.objects.exclude(channel__in=on).delete()
    failed = 0
    for pk in on:
        try:
            make_for_channel(pk)
        except Exception:  # one channel must not silence the others
            logger.exception("the alerts of channel %s were not made", pk)
            failed += 1
    if failed:
        raise AlertsNotMade(f"The alerts of {failed} channels were not made; the log says why.")


def make_for_channel(pk: "UUID") -> int:
    """Make the messages of one channel; return how many."""
    with transaction.atomic():
        locked = Channel.objects.on().select_for_update(of=("self",), skip_locked=True)
        channel = locked.select_related("owner").filter(pk=pk).first()
        if channel is None:  # switched off, or another process makes its alerts
            return 0
        now = database_time()
        if channel.is_quiet(now):
            Channel.objects.filter(pk=pk).update(is_holding_back=True)
            return 0
        changes = find_changes(channel, now)
        groups = _group(changes, after_quiet_hours=channel.is_holding_back)
        for group in groups:
            kind = group[0].kind.value if len(group) == 1 else DIGEST
            _store(channel, kind, text_of_changes(channel, group), record=group[0].record if len(group) == 1 else None)
        _note(channel, changes)
        Channel.objects.filter(pk=pk).update(looked_at=now, is_holding_back=False)
        return len(groups)


def send_test(channel: Channel) -> OutboxMessage:
    """Make a message that is sent at once, also in quiet hours."""
    return _store(channel, TEST, text_of_test(channel))


def _group(changes: Sequence[Change], *, after_quiet_hours: bool) -> list[Sequence[Change]]:
    if not changes:
        return []
    is_digest = len(changes) > MOST_SINGLE or after_quiet_hours
    return [changes] if is_digest else [[change] for change in changes]


def _store(channel: Channel, kind: str, text: AlertText, record: ProblemRecord | None = None) -> OutboxMessage:
    doorbells.ring(BELL)
    return OutboxMessage.objects.create(
        channel=channel, kind=kind, object_id=record.pk if record else None, body=to_json(text).decode()
    )


def _note(channel: Channel, changes: Sequence[Change]) -> None:
    """Note what was reported, and forget what is over."""
    mine = AlertedProblem.objects.filter(channel=channel)
    for change in changes:
        if change.kind == ChangeKind.OPENED:
            mine.create(channel=channel, record_id=change.record.pk, count=change.record.count)
        elif change.kind == ChangeKind.GREW:
            mine.filter(record_id=change.record.pk).update(count=change.record.count)
    still_open = ProblemRecord.objects.open().filter(reader=channel.reader)
    mine.exclude(record_id__in=still_open.values("pk")).delete()
