"""A delivery note: which parts a customer has got, without prices."""

from decimal import Decimal
from typing import Annotated

from pydantic import Field

from pdfjobs.documents.definition import Document
from pdfjobs.documents.fields import Amount, Day, LongText, Rows, Text, Variables
from pdfjobs.documents.formatting import LocaleFormatter
from pdfjobs.documents.kinds.offer import OfferBuyer
from pdfjobs.documents.panels import PanelSide
from pdfjobs.documents.pricing import PARTY_LABELS, LocalizedDocument, Seller

LABELS = PARTY_LABELS | {
    "delivery_note": ("Teslim fişi", "Delivery note"),
    "no_value": (
        "Mali değeri yoktur; sevk irsaliyesi veya e-İrsaliye yerine geçmez.",
        "It has no fiscal value and does not replace a waybill.",
    ),
    "number": ("No", "No"),
    "issued_on": ("Tarih", "Date"),
    "delivered_to": ("Teslim alan", "Delivered to"),
    "part": ("Parça", "Part"),
    "material": ("Malzeme", "Material"),
    "size": ("Boy × En", "Length × width"),
    "quantity": ("Adet", "Qty"),
    "pieces": ("Toplam adet", "Pieces in all"),
    "notes": ("Notlar", "Notes"),
    "handed_over": ("Teslim eden", "Handed over by"),
    "received": ("Eksiksiz teslim aldım", "Received in full"),
    "signature": ("Ad, tarih ve imza", "Name, date and signature"),
}


class DeliveredPart(Variables):
    name: Annotated[str, Text(160)] = Field(description="name of the part")
    material: Annotated[str, Text(240)] = Field("", description="the board")
    length: PanelSide = Field(description="in millimetres")
    width: PanelSide = Field(description="in millimetres")
    quantity: Annotated[Decimal, Amount(least=Decimal(1), most=100_000, places=0)] = Field(description="how many")
    note: Annotated[str, Text(200)] = Field("", description="note on the part")


class DeliveryNote(LocalizedDocument):
    number: Annotated[str, Text(110)] = Field(description="its number")
    issued_on: Day = Field(description="date of the delivery")
    seller: Seller = Field(description="who delivers")
    buyer: OfferBuyer = Field(description="the customer")
    parts: Annotated[list[DeliveredPart], Rows(1000)] = Field(description="what is delivered")
    notes: LongText = Field("", description="free text below the parts")


def shape(note: DeliveryNote) -> dict[str, object]:
    formatter = LocaleFormatter(note.locale)

    def size(part: DeliveredPart) -> str:
        return " × ".join(formatter.number(side, grouped=False) for side in (part.length, part.width))

    return {
        **dict(note),
        "issued_on": formatter.day(note.issued_on),
        "parts": [
            {**dict(part), "number": str(number), "size": size(part), "quantity": formatter.number(part.quantity)}
            for number, part in enumerate(note.parts, start=1)
        ],
        "pieces": formatter.number(sum(part.quantity for part in note.parts)),
        "words": formatter.labels(LABELS),
    }


DELIVERY_NOTE = Document("delivery_note", "Delivery note", DeliveryNote, shape)
