"""Numbers, durations and badges for templates."""

from collections.abc import Mapping
from datetime import datetime, timedelta

from django import template
from django.conf import settings
from django.urls import reverse
from django.utils.formats import date_format, get_format, number_format
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.timezone import localtime
from django.utils.translation import gettext as _

from kilit import machine_errors, product_version
from kilit.access.unset import unset_mail, unset_second_factor
from kilit.console import formatting
from kilit.spans import distance

register = template.Library()
register.filter("duration", formatting.duration)
register.filter("distance", distance)
register.filter("thousands", formatting.number)
register.filter("in_words", machine_errors.in_words)

DAY = timedelta(days=1)
SECOND = timedelta(seconds=1)


@register.simple_tag
def badge(word: object, colour: str = "", hint: object = "") -> SafeString:
    return formatting.badge(str(word), colour, title=str(hint))


@register.inclusion_tag("unfold/components/button.html")
def button(text: object, href: str = "", **options: object) -> dict[str, object]:
    """A link to `href`, or the button that sends its form; as wide as a phone, unless it has a class of its own."""
    return {"children": text, "href": href, "submit": not href, "class": "w-full lg:w-auto", **options}


@register.inclusion_tag("admin/console/post_button.html")
def post_button(text: object, view: str, *args: object, **options: object) -> dict[str, object]:
    """A button that is a form of its own: it posts nothing but the click to a view."""
    return {**button(text, "", **options), "post_to": reverse(view, args=args)}


@register.simple_tag
def table_head(*labels: object) -> SafeString:
    cells = format_html_join("", '<th scope="col">{}</th>', ((label,) for label in labels))
    return format_html("<thead><tr>{}</tr></thead>", cells)


@register.simple_tag
def login_provider() -> str:
    """Return the name of the provider of OpenID Connect, or an empty text."""
    return settings.OIDC_NAME if settings.OIDC_ISSUER else ""


@register.simple_tag
def version() -> str:
    return product_version(settings.BUILD)


@register.filter
def lookup(mapping: Mapping[str, object], key: str) -> object:
    return mapping.get(key)


@register.filter
def percent(share: float) -> str:
    """Return a share as a percentage; a small share is never rounded to zero."""
    return _("%(number)s %%") % {"number": "<1" if 0 < share < 0.01 else f"{share * 100:.0f}"}


@register.simple_tag
def ago(time: datetime | None, now: datetime) -> str:
    if time is None:
        return _("never")
    exactly, span = date_format(localtime(time), "Y-m-d H:i:s T"), formatting.duration(now - time)
    text = _("%(span)s ago") % {"span": span}
    return format_html('<time datetime="{}" title="{}">{}</time>', localtime(time).isoformat(), exactly, text)


@register.filter
def lasting(time: datetime, now: datetime) -> str:
    return formatting.duration(now - time)


@register.filter
def moment(time: datetime, now: datetime) -> str:
    """Return a time of the last 24 hours as hours and minutes, an earlier one as a day; both in the reader's zone."""
    return date_format(localtime(time), "TIME_FORMAT" if now - time < DAY else "DATE_FORMAT")


@register.filter
def to_the_second(time: datetime) -> str:
    return date_format(localtime(time), f"{get_format('DATETIME_FORMAT')}:s")


@register.filter
def brief(span: timedelta) -> str:
    """Return a duration with milliseconds, as of one run."""
    if span < SECOND:
        return _("%(number)s ms") % {"number": round(span / timedelta(milliseconds=1))}
    return _("%(number)s s") % {"number": number_format(span.total_seconds(), 1)}


@register.simple_tag
def unset(what: str) -> str:
    """Return which setting is missing, and where, for e-mail or second factors; nothing if it is there."""
    return {"mail": unset_mail, "second_factor": unset_second_factor}[what]()
