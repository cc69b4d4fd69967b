"""An offer with terms and a place to sign."""

from typing import Any

from pdfjobs.documents.definition import Document
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
SAMPLE: dict[str, Any] = {
    "locale": "tr",
    "currency": "EUR",
    "number": "TKL-2026-0093",
    "issued_on": "2026-11-15",
    "valid_until": "2026-12-15",
    "subject": "Çağdaş Kolej kütüphanesi: raf ve okuma masası donanımı",
    "introduction": "Görüşmemizde ilettiğiniz yerleşim planına göre hazırladığımız teklifi bilgilerinize sunarız. "
    "Ölçüler yerinde alınmıştır; renk ve kulp seçimi sipariş onayında kesinleşir.",
    "prepared_by": "Tuğba Işık, proje satış",
    "seller": {
        "name": "Gümüşçınar Mobilya San. ve Tic. A.Ş.",
        "address": "İkitelli OSB, Eskoop Sanayi Sitesi C2 Blok No: 14\n34490 Başakşehir / İstanbul",
        "tax_office": "İkitelli",
        "tax_number": "4210987654",
        "phone": "+90 212 555 01 42",
        "email": "proje@gumuscinar.example",
        "website": "www.gumuscinar.example",
    },
    "buyer": {
        "name": "Özel Çağdaş Koleji",
        "address": "Üniversiteler Mah. 1605. Cadde No: 9\n06800 Çankaya / Ankara",
        "phone": "+90 312 555 07 70",
    },
    "lines": [
        {
            "description": "Kitaplık modülü, çift yüzlü",
            "detail": "90 × 210 × 64 cm, meşe melamin, beşer raf",
            "quantity": 38,
            "unit": "adet",
            "unit_price": "412.00",
            "discount_rate": 10,
            "tax_rate": 20,
        },
        {
            "description": "Okuma masası, altı kişilik",
            "detail": "240 × 120 cm, masif kayın ayak, gömme prizli",
            "quantity": 12,
            "unit": "adet",
            "unit_price": "688.50",
            "discount_rate": 10,
            "tax_rate": 20,
        },
        {
            "description": "Danışma bankosu",
            "detail": "L düzeni, 320 × 180 cm; alçak bölümlü",
            "quantity": 1,
            "unit": "takım",
            "unit_price": "2940.00",
            "tax_rate": 20,
        },
        {"description": "Montaj ve yerinde ayar", "quantity": 5, "unit": "gün", "unit_price": "380.00", "tax_rate": 20},
    ],
    "terms": [
        {
            "title": "Teslim",
            "text": "Sipariş onayı ve ön ödemeden sonra altı hafta; teslim yeri Ankara, kat nakliyesi dâhil.",
        },
        {
            "title": "Ödeme",
            "text": "%40 siparişte, %60 montaj bitiminde; ödeme günündeki TCMB döviz satış kuru esas alınır.",
        },
        {"title": "Garanti", "text": "Gövde ve mekanizmalar üç yıl; yedek parça on yıl boyunca sağlanır."},
    ],
}


def shape(given: dict[str, Any]) -> dict[str, Any]:
    formatter = LocaleFormatter(given["locale"], given["currency"])
    return {
        **given,
        **priced(given["lines"], formatter),
        "issued_on": formatter.day(given["issued_on"]),
        "valid_until": formatter.day(given["valid_until"]),
        "words": LABELS[given["locale"]] | WORDS[given["locale"]],
    }


OFFER = Document("offer", "Offer", SCHEMA, shape, SAMPLE)
