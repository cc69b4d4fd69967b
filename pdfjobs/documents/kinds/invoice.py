"""An invoice on paper: a proforma, because invoices of Turkey are electronic and have fiscal value only so."""

from typing import Annotated

from pydantic import Field

from pdfjobs.documents.definition import Document
from pdfjobs.documents.fields import Day, LongText, Rows, Text, Variables
from pdfjobs.documents.pricing import Party, PricedDocument, PricedLine, Seller, priced_context

LABELS = {
    "invoice": ("Proforma", "Proforma invoice"),
    "no_value": (
        "Mali değeri yoktur; fatura, e-Fatura veya e-Arşiv Fatura yerine geçmez.",
        "It has no fiscal value and does not replace an invoice.",
    ),
    "number": ("Proforma no", "Proforma no"),
    "issued_on": ("Düzenleme tarihi", "Date of issue"),
    "due_on": ("Son ödeme", "Payment due"),
    "order_number": ("Sipariş no", "Order no"),
    "bill_to": ("Alıcı", "Bill to"),
    "payment": ("Ödeme bilgileri", "Payment"),
    "notes": ("Notlar", "Notes"),
}


class Payment(Variables):
    bank: Annotated[str, Text(120)] = Field(description="the bank")
    iban: Annotated[str, Text(42)] = Field(description="the IBAN")


class Invoice(PricedDocument):
    number: Annotated[str, Text(110)] = Field(description="its number")
    issued_on: Day = Field(description="date of issue")
    due_on: Day | None = Field(None, description="due date")
    order_number: Annotated[str, Text(60)] = Field("", description="the buyer's order number")
    seller: Seller = Field(description="the seller")
    buyer: Party = Field(description="the buyer")
    lines: Annotated[list[PricedLine], Rows(1000)] = Field(description="the invoice lines")
    payment: Payment | None = Field(None, description="payment details")
    notes: LongText = Field("", description="free text below the totals")


def shape(invoice: Invoice) -> dict[str, object]:
    return priced_context(invoice, LABELS, days=["issued_on", "due_on"])


INVOICE = Document("invoice", "Proforma invoice", Invoice, shape)
