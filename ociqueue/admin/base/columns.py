"""Columns of a conversion: click ids are masked in lists and shown in full on the row's own page."""

from typing import Any

from django.contrib.admin import display
from django.urls import reverse
from django.utils.formats import number_format
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from kilit.console.formatting import (
    age,
    badge,
    breakable,
    column,
    error_cell,
    exactly,
    fieldset,
    joined,
    link,
    two_lines,
)
from kilit.console.jobs.states import States
from kilit.machine_errors import explain, in_words
from kilit.masking import mask_identifiers
from ociqueue.models import Conversion, Site
from ociqueue.models.uploadable import Uploadable
from ociqueue.problems.blockers import doubt, is_perhaps_sent, row_name
from ociqueue.schemas.columns import mask_click_id, outcome_unknown
from ociqueue.schemas.conversions import format_consent
from ociqueue.states import CONVERSIONS, WAITING, ConversionStatus
from ociqueue.values.currencies import MINOR_UNITS

# Of adjustments, too: their table has the same states.
STATES = States(
    CONVERSIONS,
    colours={ConversionStatus.RETRY: "warning", ConversionStatus.UPLOADED: "info"},
    way=(ConversionStatus.QUEUED, ConversionStatus.PROCESSING, ConversionStatus.COMPLETED),
)


def row_page(name: str, pk: object) -> str:
    return reverse(f"admin:ociqueue_conversion_{name}", args=[pk])


def site_cell(site: Site, below: str) -> SafeString:
    """Return a site's name over its customer id, which stays in one piece, and something else."""
    customer = format_html('<span class="whitespace-nowrap">{}</span>', site.customer) if site.customer_id else ""
    return two_lines(site.name, joined(customer, below), title=site.label)


def state_cell(row: Uploadable, *more: SafeString) -> SafeString:
    badges = [STATES.badge(row.status), unknown_badge(row), *more]
    held_by = getattr(row, "held_by", None)
    if row.status in WAITING and held_by:
        why = _("The circuit is open. %(code)s: %(reason)s") % {"code": held_by.code, "reason": explain(held_by.reason)}
        badges.append(badge(_("held back"), "warning", title=why))
    return format_html_join(" ", "{}", ((each_badge,) for each_badge in badges if each_badge))


def money_of(row: Any) -> SafeString | str:
    return money(row.value, row.currency) if row.value is not None else "-"


def value_key(row: Any) -> tuple[str, Any]:
    return row.currency, row.value or 0


def money(value: Any, currency: str) -> SafeString:
    amount_text = number_format(value, decimal_pos=MINOR_UNITS.get(currency, 2), force_grouping=True)
    return format_html('<span class="whitespace-nowrap">{} {}</span>', amount_text, currency)


@display(description=gettext_lazy("click id"))
def whole_click_id(row: Conversion) -> SafeString:
    if row.erased_at:
        return SafeString(_("Erased on %(time)s") % {"time": exactly(row.erased_at)})
    if not row.click_id:
        return SafeString("-")
    return format_html("{} {}", row.kind_of_click_id, breakable(row.click_id))


@display(description=gettext_lazy("e-mail and phone"))
def hashes(row: Conversion) -> str:
    """Return which hashes a row has; the hashes themselves are shown nowhere."""
    labels = {_("e-mail hash present"): row.hashed_email, _("phone hash present"): row.hashed_phone}
    return ", ".join(text for text, stored in labels.items() if stored) or "-"


def _attempts(row: Uploadable) -> str:
    text = _("%(number)s (%(forgiven)s forgiven)") if row.attempts_forgiven else "%(number)s"
    return text % {"number": row.attempt_count, "forgiven": row.attempts_forgiven}


@display(description=gettext_lazy("error"))
def error(row: Conversion) -> SafeString | str:
    message = row.last_error.replace(row.click_id, mask_click_id(row.click_id)) if row.click_id else row.last_error
    return error_cell(row, row.provider_error_code, mask_identifiers(message))


def state_notes(row: Conversion) -> SafeString:
    retracted = note(row.is_retracted, _("retracted"), _("A retraction was accepted: it is not retried."))
    return format_html("{} {}", _upload_notes(row), retracted)


def _upload_notes(row: Conversion) -> SafeString:
    """Return badges beside the state; a row that only the script reported as uploaded is unverified."""
    if row.status != ConversionStatus.COMPLETED:
        is_expected = row.status == ConversionStatus.FAILED and not row.is_retracted and row.entry.is_expected
        expected = note(is_expected, _("nothing to do"), _("It ended as expected, and is in no failure rate."))
        return unknown_badge(row) or replaced_badge(row) or expected
    if row.uploaded_at:
        return badge(_("verified"), "success", title=_("Google confirmed this row."))
    return badge(_("unverified"), "warning", title=_("The script reported it; only Google Ads shows the result."))


def unknown_badge(row: Uploadable) -> SafeString:
    if not outcome_unknown(row):
        return SafeString("")
    word = _("perhaps sent") if is_perhaps_sent(row) else _("outcome unknown")
    return badge(word, "warning", title=doubt(row))


def note(is_so: object, text: str, title: str) -> SafeString:
    return badge(text, "info", title=title) if is_so else SafeString("")


def replaced_badge(row: Conversion) -> SafeString:
    return note(row.is_replaced, _("replaced"), _("A corrected copy was sent in its place."))


def erased_badge(row: Conversion) -> SafeString:
    return note(row.erased_at, _("erased"), _("What identified the person was removed."))


@display(description=gettext_lazy("upload that holds it"))
def upload(row: Any) -> SafeString | str:
    if row.open_batch_id is None:
        return "-"
    address = reverse("admin:ociqueue_uploadbatch_change", args=[row.open_batch_id])
    return link(address, breakable(str(row.open_batch_id)))


@display(description=gettext_lazy("replaced by"))
def replaced_by(row: Conversion) -> SafeString | str:
    if not hasattr(row, "replacement"):
        return "-"
    return link(row_page("change", row.replacement.pk), breakable(str(row.replacement)))


name = column(
    "name",
    gettext_lazy("conversion"),
    lambda row: two_lines(row_name(row), mask_click_id(row.click_id), title=str(row)),
)
state = column("state", gettext_lazy("state"), lambda row: state_cell(row, replaced_badge(row), erased_badge(row)))
amount = column("amount", gettext_lazy("value"), money_of, sort_key=value_key)
attempts = column("attempts", gettext_lazy("attempts"), _attempts, sort_key=lambda row: row.attempt_count)
whole_error = column("last_error", gettext_lazy("last error"), lambda row: in_words(row.last_error) or "-")
site = column("site", gettext_lazy("site"), lambda row: site_cell(row.site, row.action))
ad_user_data = column(
    "ad_user_data", gettext_lazy("consent: ad user data"), lambda row: format_consent(row.consent_ad_user_data) or "-"
)
ad_personalization = column(
    "ad_personalization",
    gettext_lazy("consent: ad personalization"),
    lambda row: format_consent(row.consent_ad_personalization) or "-",
)
order_id = column("order_id", gettext_lazy("order id"), lambda row: breakable(row.order_id))
source_key = column("source_key", gettext_lazy("source key"), lambda row: breakable(row.source_key or "-"))

# Columns are functions, so that Django offers no sorting by them, which would read the whole table.
COLUMNS = [name, state, site, amount, attempts, error, age]
# Of adjustments, too.
SENDING = [
    fieldset(gettext_lazy("Answer"), "provider_error_code", whole_error, "provider_request_id", "uploaded_at", upload),
    fieldset(gettext_lazy("Attempts"), attempts, "claimed_at", "next_retry_at"),
]
FIELDSETS = [
    fieldset(
        None,
        *(source_key, order_id, whole_click_id, hashes, "site", "action", amount, "conversion_time"),
        *("event_source", ad_user_data, ad_personalization),
    ),
    *SENDING,
    fieldset(gettext_lazy("Origin"), "replaces", replaced_by, "created_at", "updated_at"),
]
