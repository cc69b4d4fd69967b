"""The wording of alerts, in the language and the time zone of their channel."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from django.conf import settings
from django.template.loader import render_to_string
from django.utils import timezone, translation
from django.utils.formats import date_format, number_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from kilit.problems.registry import Severity
from kilit.spans import format_span
from outbox.alerts.changes import Change, ChangeKind
from outbox.models import Channel

PRODUCT = "Kilit"


@dataclass(frozen=True)
class AlertText:
    """What a message's body holds: the same text is sent with each attempt."""

    subject: str
    text: str
    html: str
    is_over: bool = False  # every problem in it is over
    severity: int = Severity.NOTICE.value  # of the worst


@dataclass(frozen=True)
class AlertLine:
    """A problem in a message."""

    heading: str
    title: str
    details: Sequence[str]
    link: str


def text_of_changes(channel: Channel, changes: Sequence[Change]) -> AlertText:
    """Return one message about one or several changes."""
    with _in_words_of(channel):
        lines = [_line(change) for change in changes]
        subject = _subject(changes[0]) if len(changes) == 1 else _digest_subject(changes)
        is_over = all(change.is_over for change in changes)
        return _text(channel, subject, lines, is_over=is_over, severity=max(each.record.severity for each in changes))


def text_of_test(channel: Channel) -> AlertText:
    with _in_words_of(channel):
        line = AlertLine("", _("This is a test. The channel works."), [], "")
        return _text(channel, _("Test of the channel %(name)s") % {"name": channel.name}, [line])


@contextmanager
def _in_words_of(channel: Channel) -> Iterator[None]:
    with translation.override(channel.language), timezone.override(ZoneInfo(channel.time_zone)):
        yield


def _text(
    channel: Channel,
    subject: str,
    lines: Sequence[AlertLine],
    *,
    is_over: bool = False,
    severity: int = Severity.NOTICE.value,
) -> AlertText:
    context = {
        "lines": lines,
        "settings_link": f"{settings.PUBLIC_URL}/admin/outbox/channel/{channel.pk}/change/",
        "channel": channel,
    }
    return AlertText(
        " ".join(f"[{PRODUCT}] {subject}".split()),
        _plain(lines, channel, context["settings_link"]),
        render_to_string("outbox/alert.html", context),
        is_over,
        severity,
    )


def _plain(lines: Sequence[AlertLine], channel: Channel, settings_link: object) -> str:
    blocks = ["\n".join(filter(None, [line.heading, line.title, *line.details, line.link])) for line in lines]
    footer = _("You get this through the channel %(name)s: %(link)s") % {"name": channel.name, "link": settings_link}
    return "\n\n".join([*blocks, f"--\n{footer}"])


def _subject(change: Change) -> str:
    title = _record_text(change, "title")
    if change.kind == ChangeKind.GREW:
        return _("Grown: %(title)s") % {"title": title}
    if change.is_over:
        return _("Over after %(span)s: %(title)s") % {
            "span": format_span(change.record.lasted, units=2),
            "title": title,
        }
    return f"{Severity(change.record.severity).word}: {title}"


def _digest_subject(changes: Sequence[Change]) -> str:
    over = sum(change.is_over for change in changes)
    opened = len(changes) - over
    parts = []
    if opened:
        parts.append(ngettext("%(number)s problem", "%(number)s problems", opened) % {"number": _number(opened)})
    if over:
        parts.append(
            ngettext("%(number)s problem is over", "%(number)s problems are over", over) % {"number": _number(over)}
        )
    return ", ".join(parts)


def _line(change: Change) -> AlertLine:
    record = change.record
    link = f"{settings.PUBLIC_URL}{record.link}" if record.link else ""
    return AlertLine(_heading(change), _record_text(change, "title"), [*_details(change)], link)


def _heading(change: Change) -> str:
    span = {"span": format_span(change.record.lasted, units=2)}
    match change.kind:
        case ChangeKind.OPENED:
            return Severity(change.record.severity).word
        case ChangeKind.GREW:
            return _("It has grown tenfold")
        case ChangeKind.CLOSED:
            return _("Over after %(span)s") % span
        case ChangeKind.CAME_AND_WENT:
            return _("Came and went; it lasted %(span)s") % span


def _details(change: Change) -> Iterator[str]:
    if cause := _record_text(change, "cause"):
        yield cause
    if where := change.record.text("where", translation.get_language()):
        beyond = change.record.text("beyond", translation.get_language())
        more = [_("%(number)s more") % {"number": _number(beyond)}] if beyond else []
        yield _("Where: %(places)s") % {"places": ", ".join([*where, *more])}
    since = change.record.since or change.record.opened_at
    yield _("Since: %(time)s") % {"time": date_format(timezone.localtime(since), "DATETIME_FORMAT")}


def _record_text(change: Change, name: str) -> str:
    return str(change.record.text(name, translation.get_language()))


def _number(value: int) -> str:
    return number_format(value, force_grouping=True)
