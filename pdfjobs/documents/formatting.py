"""Numbers, money and dates as a reader of the document's language writes them; the machine's locale plays no part."""

from dataclasses import dataclass
from datetime import date
from decimal import ROUND_HALF_UP, Decimal

LOCALES = ("tr", "en")
CURRENCIES = {"TRY": "₺", "EUR": "€", "USD": "$", "GBP": "£"}
MONTHS = {
    "tr": [
        "Ocak",
        "Şubat",
        "Mart",
        "Nisan",
        "Mayıs",
        "Haziran",
        "Temmuz",
        "Ağustos",
        "Eylül",
        "Ekim",
        "Kasım",
        "Aralık",
    ],
    "en": [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ],
}
CENT = Decimal("0.01")
# Narrow and unbreakable: a number never ends up on two lines.
SPACE = "\N{NO-BREAK SPACE}"


def cents(value: Decimal) -> Decimal:
    """Round as invoices are: half a cent up."""
    return value.quantize(CENT, ROUND_HALF_UP)


@dataclass(frozen=True)
class LocaleFormatter:
    locale: str
    currency: str = "TRY"

    def number(self, value: Decimal | int, places: int | None = None, *, grouped: bool = True) -> str:
        """Write a number; without places, with as many decimals as it has."""
        if places is not None:
            value = Decimal(value).quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)
        plain = f"{Decimal(value):,f}" if grouped else f"{Decimal(value):f}"
        if places is None and "." in plain:
            plain = plain.rstrip("0").rstrip(".")
        return plain.translate(str.maketrans(",.", ".,")) if self.locale == "tr" else plain

    def money(self, value: Decimal) -> str:
        """Write an amount of money with its sign; unit prices keep up to four decimals."""
        exact = value if value != cents(value) else cents(value)
        written = self.number(abs(exact), places=max(2, -int(exact.normalize().as_tuple().exponent)))
        return f"{'−' if exact < 0 else ''}{CURRENCIES[self.currency]}{written}"

    def percent(self, value: Decimal, places: int | None = None) -> str:
        """Write a rate: the sign stands before the number in Turkish."""
        written = self.number(value, places)
        return f"%{written}" if self.locale == "tr" else f"{written}%"

    def day(self, value: date | None) -> str:
        """Write a date out, so that no reader takes the month for the day."""
        if value is None:
            return ""
        return f"{value.day}{SPACE}{MONTHS[self.locale][value.month - 1]}{SPACE}{value.year}"

    def short_day(self, value: date) -> str:
        """Write a day of a known year."""
        return f"{value.day}{SPACE}{MONTHS[self.locale][value.month - 1][:3]}"
