"""Lines of a CSV file that are stored already: how their time, value or currency differ from what is stored."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from uuid import UUID

from django.utils.translation import gettext as _

from ociqueue.csv_reader import CsvLine, RejectedField, RejectedLine, shorten
from ociqueue.currencies import MINOR_UNITS
from ociqueue.models import Adjustment, Conversion, Site
from ociqueue.states import AdjustmentKind

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


def stored_contents(ids: Iterable[UUID]) -> dict[UUID, list[str]]:
    """Return the contents of rows: as imported and, if that was done, as corrected and as adjusted."""
    imported = Conversion.objects.filter(pk__any_of=list(ids)).select_related("replacement")
    versions = {row.pk: [row, *([row.replacement] if hasattr(row, "replacement") else [])] for row in imported}
    contents = {
        pk: [_join(row.conversion_time, row.value, row.currency) for row in rows] for pk, rows in versions.items()
    }
    current = {rows[-1].pk: (pk, rows[-1].conversion_time) for pk, rows in versions.items()}
    restated = Adjustment.objects.newest().filter(original__in=list(current), kind=AdjustmentKind.RESTATEMENT)
    for original, value, currency in restated.values_list("original_id", "value", "currency"):
        pk, time = current[original]
        contents[pk].append(_join(time, value or Decimal(), currency))
    return contents


def _join(time: datetime, value: Decimal, currency: str) -> str:
    return "\n".join((time.astimezone(UTC).isoformat(), f"{value:.{MINOR_UNITS.get(currency, 2)}f}", currency))


def differing_line(line: CsvLine, own: str, stored: str) -> RejectedLine:
    """Return a line with what is stored instead, column by column."""
    fields = [
        RejectedField(line.number, name, _format_stored(line, name, kept), shorten(line.cells.get(name, "")))
        for name, given, kept in zip(COMPARED, own.split("\n"), stored.split("\n"), strict=True)
        if given != kept
    ]
    return RejectedLine(line, fields)


def _format_stored(line: CsvLine, name: str, kept: str) -> str:
    if name == "conversionTime":  # in the line's own zone, so that both can be compared
        zone = datetime.fromisoformat(line.cells[name]).tzinfo
        kept = datetime.fromisoformat(kept).astimezone(zone).isoformat()
    return _("Already imported with %(stored)s.") % {"stored": kept}
