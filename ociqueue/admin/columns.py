"""How a conversion's values look: masked in lists, whole on the row's own page."""

from typing import Any

from django.contrib.admin import display
from django.contrib.admin.utils import flatten_fieldsets
from django.urls import reverse
from django.utils.formats import number_format
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from kilit.console.formatting import LINK, badge, breakable, error_cell, since, two_lines
from ociqueue.admin.badges import state_badge
from ociqueue.currencies import MINOR_UNITS
from ociqueue.models import Conversion
from ociqueue.presenters import outcome_unknown
from ociqueue.states import WAITING, Status

UNKNOWN = gettext_lazy(
    "it was sent once and no answer came; Google may have it. Its order id keeps Google from counting it twice."
)
SHOWN = 4  # characters of a click id at either end


def masked(click_id: str) -> str:
    """Return both ends of a click id, enough to recognise it by."""
    return f"{click_id[:SHOWN]}…{click_id[-SHOWN:]}" if len(click_id) > 2 * SHOWN else "…"


@display(description=gettext_lazy("conversion"))
def seal(row: Conversion) -> SafeString:
    """Return the end of the id, which tells rows apart, over the masked click id."""
    return two_lines(f"…{str(row.pk)[-12:]}", masked(row.click_id), title=str(row))


@display(description=gettext_lazy("state"))
def state(row: Conversion) -> SafeString:
    """Return the state as word and colour, and below it what a glance should not miss."""
    told = [state_badge(row.status), unknown_badge(row)]
    held_by = getattr(row, "held_by", None)
    if row.status in WAITING and held_by:
        why = _("The circuit is open. %(code)s: %(reason)s") % {"code": held_by.code, "reason": held_by.reason}
        told.append(badge(_("held back"), "warning", title=why))
    badges = format_html_join("", "{}", ((word,) for word in told if word))
    return format_html('<span class="flex flex-col gap-1 items-start">{}</span>', badges)


@display(description=gettext_lazy("site"))
def site(row: Conversion) -> SafeString:
    """Return the site over what Google calls the conversion."""
    return two_lines(row.site.name, row.action)


@display(description=gettext_lazy("value"))
def amount(row: Conversion) -> SafeString:
    """Return value and currency, with the currency's own digits."""
    value = number_format(row.value, decimal_pos=MINOR_UNITS.get(row.currency, 2), force_grouping=True)
    return format_html('<span class="whitespace-nowrap">{} {}</span>', value, row.currency)


@display(description=gettext_lazy("click id"))
def whole_click_id(row: Conversion) -> SafeString:
    """Return the click id and its kind."""
    kind = next(name for name in Conversion.CLICK_IDS if getattr(row, name))
    return format_html("{} {}", kind, breakable(row.click_id))


@display(description=gettext_lazy("consent"))
def consent(row: Conversion) -> str:
    """Return what the visitor agreed to, in the API's word."""
    return row.consent


@display(description=gettext_lazy("error category"))
def category(row: Conversion) -> str:
    """Return the kind of failure, in the API's word."""
    return row.provider_error_category or "-"


@display(description=gettext_lazy("order id"))
def order_id(row: Conversion) -> SafeString:
    """Return the id by which Google counts once."""
    return breakable(row.order_id)


@display(description=gettext_lazy("source key"))
def source_key(row: Conversion) -> SafeString | str:
    return breakable(row.source_key) if row.source_key else "-"


@display(description=gettext_lazy("attempts"))
def attempts(row: Conversion) -> str:
    """Return how often it was claimed, and how many of those no longer count."""
    if not row.attempts_forgiven:
        return f"{row.attempt_count}"
    told = {"number": row.attempt_count, "forgiven": row.attempts_forgiven}
    return _("%(number)s (%(forgiven)s forgiven)") % told


@display(description=gettext_lazy("error"))
def error(row: Conversion) -> SafeString | str:
    """Return the error's code, which opens to the whole text; the row's page shows it too."""
    return error_cell(row.provider_error_code, f"{row.provider_error_category}: {row.last_error}")


@display(description=gettext_lazy("age"))
def age(row: Conversion) -> SafeString:
    """Return how long ago it came in."""
    return since(row.created_at)


@display(description=gettext_lazy("state"))
def state_now(row: Conversion) -> SafeString:
    """Return the state; what only a script said was uploaded is unverified."""
    if row.status != Status.COMPLETED:
        told = unknown_badge(row)
    elif row.uploaded_at:
        told = badge(_("verified"), "success", title=_("Google confirmed this row."))
    else:
        told = badge(_("unverified"), "warning", title=_("The script reported it; only Google's own screen can tell."))
    return format_html("{} {}", state_badge(row.status), told)


def unknown_badge(row: Conversion) -> SafeString:
    """Return a badge when a row was sent and nobody knows what became of it."""
    return badge(_("outcome unknown"), "warning", title=str(UNKNOWN)) if outcome_unknown(row) else SafeString("")


@display(description=gettext_lazy("upload that holds it"))
def upload(row: Conversion) -> SafeString | str:
    """Link the upload that has claimed the row and not settled it."""
    if row.open_batch_id is None:
        return "-"
    address = reverse("admin:ociqueue_uploadbatch_change", args=[row.open_batch_id])
    return format_html('<a href="{}" class="{}">{}</a>', address, LINK, breakable(str(row.open_batch_id)))


@display(description=gettext_lazy("replaced by"))
def replaced_by(row: Conversion) -> SafeString | str:
    """Link the corrected copy, when there is one."""
    if not hasattr(row, "replacement"):
        return "-"
    address = reverse("admin:ociqueue_conversion_change", args=[row.replacement.pk])
    return format_html('<a href="{}" class="{}">{}</a>', address, LINK, breakable(str(row.replacement)))


# Columns are functions: Django offers, and takes, no sorting by them, which would read the whole table.
COLUMNS = [seal, state, site, amount, attempts, error, age]
FIELDSETS: Any = [
    (
        None,
        {
            "fields": [
                (state_now, "site"),
                ("action", amount),
                ("conversion_time", consent),
                whole_click_id,
            ]
        },
    ),
    (
        gettext_lazy("Answer"),
        {"fields": [("provider_error_code", category), "last_error", ("provider_request_id", "uploaded_at"), upload]},
    ),
    (
        gettext_lazy("Attempts"),
        {"fields": [("attempt_count", "attempts_forgiven"), ("claimed_at", "next_retry_at")]},
    ),
    (
        gettext_lazy("Origin"),
        {
            "fields": [
                order_id,
                source_key,
                ("replaces", replaced_by),
                ("created_at", "updated_at"),
            ]
        },
    ),
]
READ_ONLY = [field for field in flatten_fieldsets(FIELDSETS) if callable(field)]
