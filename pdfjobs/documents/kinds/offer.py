"""An offer with terms and a place to sign."""

from typing import Any

from pdfjobs.documents.definition import Document, read_sample
from pdfjobs.documents.formatting import LocaleFormatter
from pdfjobs.documents.pricing import LABELS, LANGUAGE, LINE, PARTY, SELLER, priced
from pdfjobs.documents.schema import Day, Group, Rows, Text

WORDS = {
    "tr": {
        "offer": "Teklif",
        "number": "Teklif no",
        "issued_on": "Tarih",
        "valid_until": "Geçerlilik",
        "prepared_for": "Sayın",
        "prepared_by": "Hazırlayan",
        "total": "Teklif toplamı",
        "terms": "Koşullar",
        "accepted": "Teklifi kabul ediyorum",
        "signature": "Ad, tarih, kaşe ve imza",
    },
    "en": {
        "offer": "Offer",
        "number": "Offer no",
        "issued_on": "Date",
        "valid_until": "Valid until",
        "prepared_for": "Prepared for",
        "prepared_by": "Prepared by",
        "total": "Offer total",
        "terms": "Terms",
        "accepted": "I accept this offer",
        "signature": "Name, date, stamp and signature",
    },
}
SCHEMA = Group(
    fields={
        **LANGUAGE,
        "number": Text("offer number", most=40),
        "issued_on": Day("date of the offer"),
        "valid_until": Day("last day of validity"),
        "subject": Text("subject, printed as a headline", most=160),
        "introduction": Text("a few sentences before the table", "", most=3000, lines=True),
        "prepared_by": Text("the contact person", "", most=120),
        "seller": Group("the seller", fields=SELLER),
        "buyer": Group("the customer", fields=PARTY),
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
        "words": LABELS[given["locale"]] | WORDS[given["locale"]],
    }


OFFER = Document("offer", "Offer", SCHEMA, shape, read_sample("offer"))
