"""An offer with terms and a place to sign."""

from typing import Annotated

from pydantic import Field

from pdfjobs.documents.definition import Document
from pdfjobs.documents.fields import Day, LongText, Rows, Text, Variables
from pdfjobs.documents.pricing import Party, PricedDocument, PricedLine, Seller, priced_context

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


class Term(Variables):
    title: Annotated[str, Text(80)] = Field(description="title of the term")
    text: LongText = Field(description="text of the term")


class OfferBuyer(Party):
    address: Annotated[str, Text(400, lines=True)] = Field("", description="postal address")


class Offer(PricedDocument):
    number: Annotated[str, Text(110)] = Field(description="offer number")
    issued_on: Day = Field(description="date of the offer")
    valid_until: Day = Field(description="last day of validity")
    subject: Annotated[str, Text(160)] = Field(description="subject, printed as a headline")
    introduction: Annotated[str, Text(3000, lines=True)] = Field("", description="a few sentences before the table")
    prepared_by: Annotated[str, Text(120)] = Field("", description="the contact person")
    seller: Seller = Field(description="the seller")
    buyer: OfferBuyer = Field(description="the customer")
    lines: Annotated[list[PricedLine], Rows(1000)] = Field(description="the offer lines")
    terms: Annotated[list[Term], Rows(20, least=0)] = Field([], description="delivery, payment, warranty")


def shape(offer: Offer) -> dict[str, object]:
    return priced_context(offer, LABELS, days=["issued_on", "valid_until"])


OFFER = Document("offer", "Offer", Offer, shape)
