"""Spans of time in words, in the language that is active."""

from datetime import timedelta

from django.utils.timesince import timesince
from django.utils.timezone import now
from django.utils.translation import gettext as _


def format_span(span: timedelta, *, units: int = 1) -> str:
    """Return a span as in “2 hours”; with two units, as in “2 hours, 5 minutes”."""
    if span < timedelta(minutes=1):
        return _("less than a minute")
    end = now()
    return timesince(end - span, end, depth=units)
