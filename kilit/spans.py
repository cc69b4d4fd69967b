"""Times and spans of time in words, in the language and the zone that are active."""

from datetime import datetime, timedelta

from django.utils.formats import date_format
from django.utils.timesince import timesince
from django.utils.timezone import localtime, now
from django.utils.translation import gettext as _


def format_span(span: timedelta, *, units: int = 1) -> str:
    """Return a span as in “2 hours”; with two units, as in “2 hours, 5 minutes”."""
    if span < timedelta(minutes=1):
        return _("less than a minute")
    end = now()
    return timesince(end - span, end, depth=units)


def moment(time: datetime) -> str:
    """Return a time, and how far off it is if it is to come."""
    exact = date_format(localtime(time), "DATETIME_FORMAT")
    if time <= now():
        return exact
    return _("%(time)s (in %(span)s)") % {"time": exact, "span": format_span(time - now())}


def distance(time: datetime) -> str:
    """Return how far off a time is, past or future; Django would call seconds "0 minutes"."""
    return format_span(abs(now() - time))


def ago(time: datetime | None) -> str:
    return _("%(span)s ago") % {"span": distance(time)} if time else _("never")
