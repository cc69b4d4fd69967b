"""An invoice."""

from typing import Any

from pdfjobs.documents.definition import Document, read_sample
from pdfjobs.documents.formatting import LocaleFormatter
from pdfjobs.documents.pricing import LANGUAGE, LINE, PARTY, PRICING_LABELS, SELLER, priced
from pdfjobs.documents.schema import Day, FieldGroup, Rows, Text

LABELS = {
    "invoice": ("Fatura", "Invoice"),
    "number": ("Fatura no", "Invoice no"),
    "issued_on": ("Düzenleme tarihi", "Date of issue"),
    "due_on": ("Son ödeme", "Payment due"),
    "order_number": ("Sipariş no", "Order no"),
    "bill_to": ("Alıcı", "Bill to"),
    "payment": ("Ödeme bilgileri", "Payment"),
    "notes": ("Notlar", "Notes"),
}
SCHEMA = FieldGroup(
    fields={
        **LANGUAGE,
        "number": Text("invoice number", most=40),
        "issued_on": Day("date of issue"),
        "due_on": Day("due date", None),
        "order_number": Text("the buyer's order number", "", most=60),
        "seller": FieldGroup("the seller", fields=SELLER),
        "buyer": FieldGroup("the buyer", fields=PARTY),
        "lines": Rows("the invoice lines", row=LINE, most=1000),
        "payment": FieldGroup(
            "payment details",
            None,
            fields={"bank": Text("the bank", most=120), "iban": Text("the IBAN", most=42)},
        ),
        "notes": Text("free text below the totals", "", most=2000, lines=True),
    }
)


def shape(given: dict[str, Any]) -> dict[str, Any]:
    formatter = LocaleFormatter(given["locale"], given["currency"])
    return {
        **given,
        **priced(given["lines"], formatter),
        "issued_on": formatter.day(given["issued_on"]),
        "due_on": formatter.day(given["due_on"]),
        "words": formatter.labels(PRICING_LABELS | LABELS),
    }


INVOICE = Document("invoice", "Invoice", SCHEMA, shape, read_sample("invoice"))
