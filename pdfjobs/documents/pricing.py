"""Priced lines and their totals, shared by invoices and offers."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Annotated, Any

from pydantic import Field

from pdfjobs.documents.fields import Amount, Choice, Rate, Text, Variables
from pdfjobs.documents.formatting import CURRENCIES, LOCALES, LocaleFormatter, cents
from pdfjobs.documents.images import Image

HUNDRED = Decimal(100)
SHORT_UNIT = 5  # letters that are kept on the line of the number
Price = Annotated[Decimal, Amount(least=Decimal(-(10**9)), most=10**9, places=4)]
Quantity = Annotated[Decimal, Amount(least=Decimal("0.0001"), most=10**7, places=4)]


class LocalizedDocument(Variables):
    locale: Annotated[str, Choice(*LOCALES)] = Field("tr", description="the language of the document")


class PricedDocument(LocalizedDocument):
    currency: Annotated[str, Choice(*CURRENCIES)] = Field("TRY", description="the currency of all amounts")


class Party(Variables):
    name: Annotated[str, Text(200)] = Field(description="name or company")
    address: Annotated[str, Text(400, lines=True)] = Field(description="postal address")
    tax_office: Annotated[str, Text(100)] = Field("", description="tax office")
    tax_number: Annotated[str, Text(40)] = Field("", description="tax number")
    phone: Annotated[str, Text(40)] = Field("", description="telephone")
    email: Annotated[str, Text(120)] = Field("", description="e-mail address")


class Seller(Party):
    website: Annotated[str, Text(120)] = Field("", description="web address, as text")
    logo_url: Image | None = Field(
        None, description="address of a logo above the name; fetched when the document is rendered"
    )


class PricedLine(Variables):
    description: Annotated[str, Text(300)] = Field(description="product or service")
    detail: Annotated[str, Text(1000, lines=True)] = Field("", description="small print below the description")
    quantity: Quantity = Field(description="quantity")
    unit: Annotated[str, Text(20)] = Field("", description="the unit, such as `adet` or `m²`")
    unit_price: Price = Field(description="unit price without tax")
    discount_rate: Rate = Field(Decimal(0), description="discount in percent")
    tax_rate: Rate = Field(description="tax in percent")


PARTY_LABELS = {"tax_office": ("Vergi dairesi", "Tax office"), "tax_number": ("Vergi no", "Tax no")}
PRICING_LABELS = PARTY_LABELS | {
    "line": ("Açıklama", "Description"),
    "quantity": ("Miktar", "Quantity"),
    "unit_price": ("Birim fiyat", "Unit price"),
    "discount": ("İndirim", "Discount"),
    "tax": ("KDV", "VAT"),
    "amount": ("Tutar", "Amount"),
    "subtotal": ("Ara toplam", "Subtotal"),
    "net": ("Matrah", "Net"),
    "total": ("Genel toplam", "Total due"),
}


def priced_context(document: Any, labels: Mapping[str, tuple[str, str]], *, days: list[str]) -> dict[str, object]:
    formatter = LocaleFormatter(document.locale, document.currency)
    return {
        **dict(document),
        **_priced(document.lines, formatter),
        **{name: formatter.day(getattr(document, name)) for name in days},
        "words": formatter.labels({**PRICING_LABELS, **labels}),
    }


def _priced(lines: list[PricedLine], formatter: LocaleFormatter) -> dict[str, object]:
    """Return formatted lines and totals. Tax is computed on the sum of each rate, as tax offices do."""
    rows = []
    gross = discount = Decimal(0)
    bases: dict[Decimal, Decimal] = {}
    for number, line in enumerate(lines, start=1):
        full = cents(line.quantity * line.unit_price)
        off = cents(full * line.discount_rate / HUNDRED)
        gross, discount = gross + full, discount + off
        rate = line.tax_rate.normalize()
        bases[rate] = bases.get(rate, Decimal(0)) + full - off
        rows.append(
            {
                **dict(line),
                "number": str(number),
                "quantity": formatter.number(line.quantity),
                "short_unit": len(line.unit) <= SHORT_UNIT,
                "unit_price": formatter.money(line.unit_price),
                "discount": formatter.percent(line.discount_rate) if line.discount_rate else "",
                "tax": formatter.percent(line.tax_rate),
                "amount": formatter.money(full - off),
            }
        )
    taxes = {rate: cents(base * rate / HUNDRED) for rate, base in sorted(bases.items())}
    return {
        "lines": rows,
        "has_discount": bool(discount),
        "subtotal": formatter.money(gross),
        "discount": formatter.money(-discount),
        "net": formatter.money(gross - discount),
        "taxes": [
            {"rate": formatter.percent(rate), "base": formatter.money(bases[rate]), "amount": formatter.money(amount)}
            for rate, amount in taxes.items()
        ],
        "total": formatter.money(gross - discount + sum(taxes.values(), Decimal(0))),
    }
