"""Formats numbers, money and dates in the document's language, independent of the machine's locale."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from decimal import ROUND_HALF_UP, Decimal

LOCALES = ("tr", "en")
CURRENCIES = {"TRY": "₺", "EUR": "€", "USD": "$", "GBP": "£"}
MONTHS = {
    "tr": "Ocak Şubat Mart Nisan Mayıs Haziran Temmuz Ağustos Eylül Ekim Kasım Aralık",
    "en": "January February March April May June July August September October November December",
}
CENT = Decimal("0.01")
# A date stays on one line.
SPACE = "\N{NO-BREAK SPACE}"


def cents(value: Decimal) -> Decimal:
    """Round to cents, half a cent up, as on invoices."""
    return value.quantize(CENT, ROUND_HALF_UP)


@dataclass(frozen=True)
class LocaleFormatter:
    locale: str
    currency: str = "TRY"

    def labels(self, pairs: Mapping[str, tuple[str, str]]) -> dict[str, str]:
        """Return the labels in the document's language; a pair is in the order of LOCALES."""
        return {name: pair[LOCALES.index(self.locale)] for name, pair in pairs.items()}

    def number(self, value: Decimal | int, places: int | None = None, *, grouped: bool = True) -> str:
        """Format a number; without `places`, with as many decimals as it has."""
        if places is not None:
            value = Decimal(value).quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)
        plain = f"{Decimal(value):,f}" if grouped else f"{Decimal(value):f}"
        if places is None and "." in plain:
            plain = plain.rstrip("0").rstrip(".")
        return plain.translate(str.maketrans(",.", ".,")) if self.locale == "tr" else plain

    def money(self, value: Decimal) -> str:
        """Format an amount with its currency; unit prices keep up to four decimals."""
        exact = value if value != cents(value) else cents(value)
        written = self.number(abs(exact), places=max(2, -int(exact.normalize().as_tuple().exponent)))
        return f"{'−' if exact < 0 else ''}{CURRENCIES[self.currency]}{written}"

    def percent(self, value: Decimal, places: int | None = None) -> str:
        """Format a rate; in Turkish the sign comes first."""
        written = self.number(value, places)
        return f"%{written}" if self.locale == "tr" else f"{written}%"

    def day(self, value: date | None) -> str:
        """Format a date with the name of its month, so that month and day are not confused."""
        if value is None:
            return ""
        return f"{value.day}{SPACE}{self._month(value)}{SPACE}{value.year}"

    def short_day(self, value: date) -> str:
        return f"{value.day}{SPACE}{self._month(value)[:3]}"

    def _month(self, value: date) -> str:
        return MONTHS[self.locale].split()[value.month - 1]
