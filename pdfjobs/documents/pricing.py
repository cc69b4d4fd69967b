"""Priced lines and their totals, shared by invoices and offers."""

from decimal import Decimal
from typing import Any

from pdfjobs.documents.formatting import CURRENCIES, LOCALES, LocaleFormatter, cents
from pdfjobs.documents.images import Image
from pdfjobs.documents.schema import Amount, Choice, Field, Text

HUNDRED = Decimal(100)

LANGUAGE: dict[str, Field] = {
    "locale": Choice("the language of the document", "tr", words=LOCALES),
    "currency": Choice("the currency of all amounts", "TRY", words=tuple(CURRENCIES)),
}
PARTY: dict[str, Field] = {
    "name": Text("name or company", most=200),
    "address": Text("postal address", most=400, lines=True),
    "tax_office": Text("tax office", "", most=100),
    "tax_number": Text("tax number", "", most=40),
    "phone": Text("telephone", "", most=40),
    "email": Text("e-mail address", "", most=120),
}
SELLER: dict[str, Field] = PARTY | {
    "website": Text("web address, as text", "", most=120),
    "logo_url": Image("address of a logo above the name; fetched when the document is rendered", None),
}
SHORT_UNIT = 5  # letters that are kept on the line of the number
LINE: dict[str, Field] = {
    "description": Text("product or service", most=300),
    "detail": Text("small print below the description", "", most=1000, lines=True),
    "quantity": Amount("quantity", least=Decimal("0.0001"), most=Decimal(10**7), places=4),
    "unit": Text("the unit, such as `adet` or `m²`", "", most=20),
    "unit_price": Amount("unit price without tax", least=Decimal(-(10**9)), most=Decimal(10**9), places=4),
    "discount_rate": Amount("discount in percent", Decimal(0), most=HUNDRED),
    "tax_rate": Amount("tax in percent", most=HUNDRED),
}
PRICING_LABELS = {
    "line": ("Açıklama", "Description"),
    "quantity": ("Miktar", "Quantity"),
    "unit_price": ("Birim fiyat", "Unit price"),
    "discount": ("İndirim", "Discount"),
    "tax": ("KDV", "VAT"),
    "amount": ("Tutar", "Amount"),
    "subtotal": ("Ara toplam", "Subtotal"),
    "net": ("Matrah", "Net"),
    "total": ("Genel toplam", "Total due"),
    "tax_office": ("Vergi dairesi", "Tax office"),
    "tax_number": ("Vergi no", "Tax no"),
}


def priced(lines: list[dict[str, Any]], formatter: LocaleFormatter) -> dict[str, Any]:
    """Return formatted lines and totals. Tax is computed on the sum of each rate, as tax offices do."""
    shown = []
    gross = discount = Decimal(0)
    bases: dict[Decimal, Decimal] = {}
    for number, line in enumerate(lines, start=1):
        full = cents(line["quantity"] * line["unit_price"])
        off = cents(full * line["discount_rate"] / HUNDRED)
        gross, discount = gross + full, discount + off
        rate = line["tax_rate"].normalize()
        bases[rate] = bases.get(rate, Decimal(0)) + full - off
        shown.append(
            {
                **line,
                "number": str(number),
                "quantity": formatter.number(line["quantity"]),
                "short_unit": len(line["unit"]) <= SHORT_UNIT,
                "unit_price": formatter.money(line["unit_price"]),
                "discount": formatter.percent(line["discount_rate"]) if line["discount_rate"] else "",
                "tax": formatter.percent(line["tax_rate"]),
                "amount": formatter.money(full - off),
            }
        )
    taxes = {rate: cents(base * rate / HUNDRED) for rate, base in sorted(bases.items())}
    return {
        "lines": shown,
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
