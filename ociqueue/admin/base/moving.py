"""Before a site changes its Google account or sender: which rows are open, what to do first, and a box to tick."""

from typing import Any

from django import forms
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from unfold.widgets import UnfoldBooleanWidget

from kilit.console.formatting import link, number
from ociqueue.models import Site
from ociqueue.operating.unsettled import UnsettledRows


def warnings(site: Site, rows: UnsettledRows) -> SafeString:
    """Return which rows the account that is used until now may have, and what to do first."""
    listed = reverse("admin:ociqueue_conversion_changelist", query={"site": site.pk, "outcome": "unknown"})
    sentences: list[Any] = []
    if rows.unknown_waiting or rows.unknown_failed:
        numbers = {"waiting": number(rows.unknown_waiting), "failed": number(rows.unknown_failed)}
        said = _(
            "Outcome unknown: %(waiting)s wait, %(failed)s failed. Google may have counted them. It counts an order id "
            "once, but only within one account: in another account they count again."
        )
        sentences.append(format_html("{} {}", said % numbers, link(listed, _("Show them"))))
    if rows.processing:
        said = _("PROCESSING: %(number)s. They are being sent to the old account, or were taken by its script.")
        sentences.append(said % {"number": number(rows.processing)})
    if rows.uploaded:
        said = _("UPLOADED: %(number)s. Google's verdict is asked for with the login that is stored then.")
        sentences.append(said % {"number": number(rows.uploaded)})
    sentences.append(
        _(
            "Before another account gets the rows: pause the site, wait until nothing is PROCESSING or UPLOADED, look "
            "the unknown ones up in the old account by their order ids, and mark failed what it has."
        )
    )
    return format_html_join(SafeString("<br>"), "{}", ((sentence,) for sentence in sentences))


def confirmation(site: Site, rows: UnsettledRows, label: str) -> forms.BooleanField:
    """Return a box to tick, with the warnings below it."""
    return forms.BooleanField(label=label, required=False, widget=UnfoldBooleanWidget, help_text=warnings(site, rows))
