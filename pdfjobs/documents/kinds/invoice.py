"""An invoice."""

from typing import Any

from pdfjobs.documents.definition import Document
from pdfjobs.documents.formatting import LocaleFormatter
from pdfjobs.documents.pricing import LABELS, LANGUAGE, LINE, PARTY, SELLER, priced
from pdfjobs.documents.schema import Day, Group, Rows, Text

WORDS = {
    "tr": {
        "invoice": "Fatura",
        "number": "Fatura no",
        "issued_on": "Düzenleme tarihi",
        "due_on": "Son ödeme",
        "order_number": "Sipariş no",
        "bill_to": "Alıcı",
        "payment": "Ödeme bilgileri",
        "notes": "Notlar",
    },
    "en": {
        "invoice": "Invoice",
        "number": "Invoice no",
        "issued_on": "Date of issue",
        "due_on": "Payment due",
        "order_number": "Order no",
        "bill_to": "Bill to",
        "payment": "Payment",
        "notes": "Notes",
    },
}
SCHEMA = Group(
    fields={
        **LANGUAGE,
        "number": Text("invoice number", most=40),
        "issued_on": Day("date of issue"),
        "due_on": Day("due date", None),
        "order_number": Text("the buyer's order number", "", most=60),
        "seller": Group("the seller", fields=SELLER),
        "buyer": Group("the buyer", fields=PARTY),
        "lines": Rows("the invoice lines", row=LINE, most=1000),
        "payment": Group(
            "payment details",
            None,
            fields={"bank": Text("the bank", most=120), "iban": Text("the IBAN", most=42)},
        ),
        "notes": Text("free text below the totals", "", most=2000, lines=True),
    }
)
SAMPLE: dict[str, Any] = {
    "locale": "tr",
    "currency": "TRY",
    "number": "FTR-2026-000418",
    "issued_on": "2026-11-12",
    "due_on": "2026-12-12",
    "order_number": "SP-77120",
    "seller": {
        "name": "Gümüşçınar Mobilya San. ve Tic. A.Ş.",
        "address": "İkitelli OSB, Eskoop Sanayi Sitesi C2 Blok No: 14\n34490 Başakşehir / İstanbul",
        "tax_office": "İkitelli",
        "tax_number": "4210987654",
        "phone": "+90 212 555 01 42",
        "email": "muhasebe@gumuscinar.example",
        "website": "www.gumuscinar.example",
    },
    "buyer": {
        "name": "Şehzade Otelcilik ve Turizm İşletmeleri Ltd. Şti.",
        "address": "Çırağan Caddesi No: 28 Kat: 3\n34349 Beşiktaş / İstanbul",
        "tax_office": "Beşiktaş",
        "tax_number": "8120345671",
        "email": "satinalma@sehzadeotel.example",
    },
    "lines": [
        {
            "description": "Oda giysi dolabı, sürgülü kapaklı",
            "detail": "240 × 220 × 60 cm, ceviz kaplama, frenli ray",
            "quantity": 24,
            "unit": "adet",
            "unit_price": "18450.00",
            "discount_rate": 8,
            "tax_rate": 20,
        },
        {
            "description": "Yatak başlığı, döşemeli",
            "detail": "180 × 120 cm, leke tutmaz kumaş, antrasit",
            "quantity": 24,
            "unit": "adet",
            "unit_price": "6275.50",
            "tax_rate": 20,
        },
        {
            "description": "Komodin, iki çekmeceli",
            "quantity": 48,
            "unit": "adet",
            "unit_price": "2890.00",
            "discount_rate": 5,
            "tax_rate": 20,
        },
        {
            "description": "Lobi oturma grubu için masif meşe sehpa",
            "detail": "Yağlı-mumlu yüzey; taşıma sırasında köşe koruyucu ile paketlenir",
            "quantity": 6,
            "unit": "adet",
            "unit_price": "9120.00",
            "tax_rate": 20,
        },
        {
            "description": "Duvar paneli",
            "quantity": "112.75",
            "unit": "m²",
            "unit_price": "1384.2550",
            "tax_rate": 20,
        },
        {"description": "Nakliye ve montaj", "quantity": 1, "unit": "iş", "unit_price": "42000", "tax_rate": 10},
    ],
    "payment": {"bank": "Anadolu Bankası, İkitelli Şubesi", "iban": "TR33 0006 1005 1978 6457 8413 26"},
    "notes": "Ürünler iki yıl garantilidir. Ödemelerde fatura numarasını belirtmenizi rica ederiz.",
}


def shape(given: dict[str, Any]) -> dict[str, Any]:
    formatter = LocaleFormatter(given["locale"], given["currency"])
    return {
        **given,
        **priced(given["lines"], formatter),
        "issued_on": formatter.day(given["issued_on"]),
        "due_on": formatter.day(given["due_on"]),
        "words": LABELS[given["locale"]] | WORDS[given["locale"]],
    }


INVOICE = Document("invoice", "Invoice", SCHEMA, shape, SAMPLE)
