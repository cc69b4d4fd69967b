"""Makes the alerts: for each channel, what is new since its last messages.

The messages, the note which problems were reported and the time of this look are stored in one transaction, and the
lock on the channel's row admits one maker at a time. So a maker that is killed has done all of it or nothing, and no
alert is lost or made twice.
"""

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from uuid import UUID
from zoneinfo import ZoneInfo

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F, Q
from django.db.models.functions import Now
from django.template.loader import render_to_string
from django.utils import timezone, translation
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from pydantic_core import to_json

from kilit.lock.clock import database_time
from kilit.problems.kinds import ProblemKind
from kilit.problems.models import ProblemRecord
from kilit.problems.registry import Severity, number
from kilit.spans import format_span
from kilit.workers import doorbells
from outbox.models import AlertedProblem, AlertRule, Channel, OutboxMessage

logger = logging.getLogger(__name__)

GROWN = 10  # times as many as in the last message
PRODUCT = "Kilit"
BELL = "alerts"
# Rows that could not be taken before, as a pause has just ended, are taken soon, and that is no alert.
UNTAKEN_FOR = timedelta(minutes=2)
MOST_SINGLE = 3  # more than these at once become a digest
DIGEST, TEST = "alert.digest", "alert.test"


class ChangeKind(Enum):
    OPENED = "alert.opened"
    GREW = "alert.grew"
    CLOSED = "alert.closed"
    CAME_AND_WENT = "alert.came_and_went"  # in quiet hours


@dataclass(frozen=True)
class Change:
    kind: ChangeKind
    record: ProblemRecord

    @property
    def is_over(self) -> bool:
        return self.kind in (ChangeKind.CLOSED, ChangeKind.CAME_AND_WENT)


def find_changes(channel: Channel, now: datetime) -> list[Change]:
    """Return what a channel has not reported yet; nothing about problems that are muted."""
    alerted = {row.record_id: row for row in AlertedProblem.objects.filter(channel=channel)}
    rules = list(channel.rules.all()) or [AlertRule()]
    too_short = Q(kind=ProblemKind.NOT_TAKEN, seen_at__lt=F("opened_at") + UNTAKEN_FOR)
    records = ProblemRecord.objects.filter(~too_short, reader=channel.reader)
    over = records.closed().filter(Q(closed_at__gt=channel.looked_at) | Q(pk__in=alerted)).order_by("closed_at")
    return [
        *_opened_or_grown(records.open().order_by("-severity", "-count", "key"), alerted, rules, now),
        *_over(over, alerted, rules),
    ]


def _opened_or_grown(
    records: Iterable[ProblemRecord], alerted: Mapping[UUID, AlertedProblem], rules: list[AlertRule], now: datetime
) -> Iterator[Change]:
    for record in records:
        is_muted = record.muted_until is not None and record.muted_until > now
        if is_muted or not any(rule.matches(record) for rule in rules):
            continue
        last = alerted.get(record.pk)
        if last is None:
            yield Change(ChangeKind.OPENED, record)
        elif record.count >= GROWN * last.count:
            yield Change(ChangeKind.GREW, record)


def _over(
    records: Iterable[ProblemRecord], alerted: Mapping[UUID, AlertedProblem], rules: list[AlertRule]
) -> Iterator[Change]:
    for record in records:
        was_muted = record.muted_until is not None and record.muted_until > (record.closed_at or record.seen_at)
        if was_muted:
            continue
        if record.pk in alerted:
            yield Change(ChangeKind.CLOSED, record)
        elif any(rule.matches(record) for rule in rules):
            yield Change(ChangeKind.CAME_AND_WENT, record)


@dataclass(frozen=True)
class AlertText:
    """What a message's body holds: the same text is sent with each attempt."""

    subject: str
    text: str
    html: str
    is_over: bool  # every problem in it is over
    severity: int  # of the worst


@dataclass(frozen=True)
class AlertLine:
    heading: str
    title: str
    details: Sequence[str]
    link: str


def text_of_changes(channel: Channel, changes: Sequence[Change]) -> AlertText:
    with _in_words_of(channel):
        lines = [_line(change) for change in changes]
        subject = _subject(changes[0]) if len(changes) == 1 else _digest_subject(changes)
        return _text(channel, subject, lines, changes)


def text_of_test(channel: Channel) -> AlertText:
    with _in_words_of(channel):
        line = AlertLine("", _("This is a test. The channel works."), [], "")
        return _text(channel, _("Test of the channel %(name)s") % {"name": channel.name}, [line], [])


@contextmanager
def _in_words_of(channel: Channel) -> Iterator[None]:
    with translation.override(channel.language), timezone.override(ZoneInfo(channel.time_zone)):
        yield


def _text(channel: Channel, subject: str, lines: Sequence[AlertLine], changes: Sequence[Change]) -> AlertText:
    link = f"{settings.PUBLIC_URL}/admin/outbox/channel/{channel.pk}/change/"
    return AlertText(
        subject=" ".join(f"[{PRODUCT}] {subject}".split()),
        text=_plain(lines, channel, link),
        html=render_to_string("outbox/alert.html", {"lines": lines, "settings_link": link, "channel": channel}),
        is_over=bool(changes) and all(change.is_over for change in changes),
        severity=max((change.record.severity for change in changes), default=Severity.NOTICE.value),
    )


def _plain(lines: Sequence[AlertLine], channel: Channel, settings_link: str) -> str:
    blocks = ["\n".join(filter(None, [line.heading, line.title, *line.details, line.link])) for line in lines]
    footer = _("You get this through the channel %(name)s: %(link)s") % {"name": channel.name, "link": settings_link}
    return "\n\n".join([*blocks, f"--\n{footer}"])


def _subject(change: Change) -> str:
    title = change.record.title
    if change.kind == ChangeKind.GREW:
        return _("Grown: %(title)s") % {"title": title}
    if change.is_over:
        return _("Over after %(span)s: %(title)s") % {
            "span": format_span(change.record.lasted, units=2),
            "title": title,
        }
    return f"{Severity(change.record.severity).label}: {title}"


def _digest_subject(changes: Sequence[Change]) -> str:
    over = sum(change.is_over for change in changes)
    opened = len(changes) - over
    parts = []
    if opened:
        parts.append(ngettext("%(number)s problem", "%(number)s problems", opened) % {"number": number(opened)})
    if over:
        parts.append(
            ngettext("%(number)s problem is over", "%(number)s problems are over", over) % {"number": number(over)}
        )
    return ", ".join(parts)


def _line(change: Change) -> AlertLine:
    record = change.record
    link = f"{settings.PUBLIC_URL}{record.link}" if record.link else ""
    return AlertLine(_heading(change), change.record.title, [*_details(change)], link)


def _heading(change: Change) -> str:
    span = {"span": format_span(change.record.lasted, units=2)}
    match change.kind:
        case ChangeKind.OPENED:
            return str(Severity(change.record.severity).label)
        case ChangeKind.GREW:
            return _("It has grown tenfold")
        case ChangeKind.CLOSED:
            return _("Over after %(span)s") % span
        case ChangeKind.CAME_AND_WENT:
            return _("Came and went; it lasted %(span)s") % span


def _details(change: Change) -> Iterator[str]:
    record = change.record
    if change.is_over:  # causes and places are of a problem that exists
        yield _("From %(start)s to %(end)s") % {"start": _time(record.began_at), "end": _time(record.seen_at)}
        return
    if cause := record.text("cause"):
        code = record.text("code")
        yield f"{cause} ({code})" if code else cause
    if advice := record.text("advice"):
        yield advice
    if where := record.text("where"):
        beyond = record.text("beyond")
        more = [_("%(number)s more") % {"number": number(beyond)}] if beyond else []
        yield _("Where: %(places)s") % {"places": ", ".join([*where, *more])}
    yield _("Since: %(time)s") % {"time": _time(record.since or record.opened_at)}


def _time(time: datetime) -> str:
    return date_format(timezone.localtime(time), "DATETIME_FORMAT")


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


def make_for_channel(pk: UUID) -> int:
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
    own_rows = AlertedProblem.objects.filter(channel=channel)
    for change in changes:
        if change.kind == ChangeKind.OPENED:
            own_rows.create(channel=channel, record_id=change.record.pk, count=change.record.count)
        elif change.kind == ChangeKind.GREW:
            own_rows.filter(record_id=change.record.pk).update(count=change.record.count)
    still_open = ProblemRecord.objects.open().filter(reader=channel.reader)
    own_rows.exclude(record_id__in=still_open.values("pk")).delete()
