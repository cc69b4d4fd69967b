"""An offer with terms and a place to sign."""

from typing import Any

from pdfjobs.documents.definition import Document, read_sample
from pdfjobs.documents.formatting import LocaleFormatter
from pdfjobs.documents.pricing import LANGUAGE, LINE, PARTY, PRICING_LABELS, SELLER, priced
from pdfjobs.documents.schema import Day, FieldGroup, Rows, Text

LABELS = {
    "offer": ("Teklif", "Offer"),
    "number": ("Teklif no", "Offer no"),
    "issued_on": ("Tarih", "Date"),
    "valid_until": ("Geçerlilik", "Valid until"),
    "prepared_for": ("Sayın", "Prepared for"),
    "prepared_by": ("Hazırlayan", "Prepared by"),
    "total": ("Teklif toplamı", "Offer total"),
    "terms": ("Koşullar", "Terms"),
    "accepted": ("Teklifi kabul ediyorum", "I accept this offer"),
    "signature": ("Ad, tarih, kaşe ve imza", "Name, date, stamp and signature"),
}
SCHEMA = FieldGroup(
    fields={
        **LANGUAGE,
        "number": Text("offer number", most=40),
        "issued_on": Day("date of the offer"),
        "valid_until": Day("last day of validity"),
        "subject": Text("subject, printed as a headline", most=160),
        "introduction": Text("a few sentences before the table", "", most=3000, lines=True),
        "prepared_by": Text("the contact person", "", most=120),
        "seller": FieldGroup("the seller", fields=SELLER),
        "buyer": FieldGroup("the customer", fields=PARTY),
        "lines": Rows("the offer lines", row=LINE, most=1000),
        "terms": Rows(
            "delivery, payment, warranty",
            [],
            row={"title": Text("title of the term", most=80), "text": Text("text of the term", most=2000, lines=True)},
            least=0,
            most=20,
        ),
    }
)


def shape(given: dict[str, Any]) -> dict[str, Any]:
    formatter = LocaleFormatter(given["locale"], given["currency"])
    return {
        **given,
        **priced(given["lines"], formatter),
        "issued_on": formatter.day(given["issued_on"]),
        "valid_until": formatter.day(given["valid_until"]),
        "words": formatter.labels(PRICING_LABELS | LABELS),
    }


OFFER = Document("offer", "Offer", SCHEMA, shape, read_sample("offer"))
