"""Lines of a CSV file that are stored already: how they differ from what is stored."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from uuid import UUID

from django.utils.translation import gettext as _

from kilit.csv.reader import CsvLine, RejectedField, RejectedLine, shorten
from ociqueue.models import Adjustment, Conversion, Site
from ociqueue.states import AdjustmentKind
from ociqueue.values.currencies import MINOR_UNITS

COMPARED = ("conversionTime", "conversionValue", "conversionCurrency")


def format_advice() -> str:
    return _(
        "The stored conversions stay as they are. Adjust the value of a conversion that was sent, correct one that "
        "failed, and give a second conversion of the same click a sourceKey."
    )


def content_of_line(site: Site, cells: Mapping[str, str]) -> str:
    """Return what is compared of a valid line, as one text: a dry run keeps many."""
    time = datetime.fromisoformat(cells["conversionTime"])
    currency = cells.get("conversionCurrency", site.default_currency).upper()
    return _join(time, Decimal(cells["conversionValue"]), currency)


def stored_contents(ids: Iterable[UUID]) -> dict[UUID, str]:
    """Return what is compared of stored rows, with the value of a restatement."""
    rows = {row.pk: row for row in Conversion.objects.filter(pk__any_of=list(ids))}
    contents = {pk: _join(row.conversion_time, row.value, row.currency) for pk, row in rows.items()}
    restated = Adjustment.objects.newest().filter(original__in=list(rows), kind=AdjustmentKind.RESTATEMENT)
    for pk, value, currency in restated.values_list("original_id", "value", "currency"):
        contents[pk] = _join(rows[pk].conversion_time, value or Decimal(), currency)
    return contents


def _join(time: datetime, value: Decimal, currency: str) -> str:
    return "\n".join((time.astimezone(UTC).isoformat(), f"{value:.{MINOR_UNITS.get(currency, 2)}f}", currency))


def differing_names(own: str, stored: str) -> list[str]:
    pairs = zip(COMPARED, own.split("\n"), stored.split("\n"), strict=True)
    return [name for name, given, kept in pairs if given != kept]


def differing_line(line: CsvLine, names: Iterable[str], stored: str) -> RejectedLine:
    """Return a line with what is stored instead, column by column."""
    kept = dict(zip(COMPARED, stored.split("\n"), strict=True))
    fields = [
        RejectedField(line.number, name, _format_stored(line, name, kept.get(name, "")), shorten(line.shown(name)))
        for name in names
    ]
    return RejectedLine(line, fields)


def _format_stored(line: CsvLine, name: str, kept: str) -> str:
    if not kept:
        return _("Already imported with another value.")
    if name == "conversionTime":  # in the line's own zone, so that both can be compared
        zone = datetime.fromisoformat(line.cells[name]).tzinfo
        kept = datetime.fromisoformat(kept).astimezone(zone).isoformat()
    return _("Already imported with %(stored)s.") % {"stored": kept}
