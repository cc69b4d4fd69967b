"""Headings and labels in English and Turkish, in any case; `İ`, `ı`, `I` and `i` are one letter."""

import re
import unicodedata
from collections.abc import Mapping
from functools import lru_cache

# A heading may have several names, as in "Boy / Length (cm)". The template shows the first of each language.
COLUMNS: Mapping[str, tuple[str, ...]] = {
    "id": ("parca no", "part id", "parca id", "parca", "part", "id", "no", "sira no", "sira"),
    "part_type": ("parca tipi", "part type", "parca turu", "tip", "tur", "type"),
    "material_code": ("malzeme kodu", "material code", "malzeme", "material"),
    "length_cm": ("boy", "length", "uzunluk"),
    "width_cm": ("en", "width", "genislik"),
    "quantity": ("adet", "quantity", "miktar", "pieces", "pcs"),
    "grain": ("desen yonu", "grain", "su yonu", "desen", "su", "damar"),
    "color": ("renk", "color", "colour"),
    "thickness_mm": ("kalinlik", "thickness"),
    "edge_up": ("ust kenar", "edge up", "kenar ust", "ust", "edge top", "top", "u1"),
    "edge_lo": ("alt kenar", "edge lo", "kenar alt", "alt", "edge bottom", "bottom", "u2"),
    "edge_sx": ("sol kenar", "edge sx", "kenar sol", "sol", "edge left", "left", "k1"),
    "edge_dx": ("sag kenar", "edge dx", "kenar sag", "sag", "edge right", "right", "k2"),
    "iidesc": ("delik kodu", "drill code", "delik", "iidesc"),
    "desc1": ("not", "note", "aciklama", "notlar", "desc1"),
}
LABELS: Mapping[str, tuple[str, ...]] = {
    "order_id": ("siparis no", "order id", "siparis", "order", "siparis numarasi"),
    "customer_phone": ("musteri telefonu", "customer phone", "telefon", "tel", "phone", "gsm"),
    "customer_snapshot_name": ("musteri", "customer", "musteri adi", "customer name", "ad soyad", "firma"),
    "opti_mode": ("mod", "mode", "opti mode"),
    "plate_size": ("plaka", "plate", "plaka olcusu", "plate size"),
    "revision": ("revizyon", "revision"),
    "priority": ("oncelik", "priority"),
    "due_on": ("termin", "teslim tarihi", "due date", "due", "termin tarihi", "teslim"),
    "saw": ("testere", "saw", "makine"),
    "material_code": ("malzeme kodu", "material code", "malzeme", "material"),
    "color": ("renk", "color", "colour"),
    "thickness_mm": ("kalinlik", "thickness", "kalinlik mm", "thickness mm"),
    "edge": ("bant", "edge", "kenar bandi", "kenar", "pvc", "bant kalinligi", "edge band"),
}
LONGEST, LONGEST_CACHED = 100, 64  # characters of a heading, and of a text that is likely to come again
UNITS = ("cm", "mm")


def fold(text: str) -> str:
    """Return lower-case ASCII words: `PARÇA  TİPİ:` and `parça tipi` are the same."""
    return _fold(text) if len(text) <= LONGEST_CACHED else _fold.__wrapped__(text)


@lru_cache(maxsize=4096)  # cells repeat
def _fold(text: str) -> str:
    apart = unicodedata.normalize("NFKD", text.replace("ı", "i").replace("I", "i").casefold())
    letters = "".join(letter for letter in apart if not unicodedata.combining(letter))
    return re.sub("[^a-z0-9]+", " ", letters).strip()


def _names(fields: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    return {name: field for field, names in fields.items() for name in names}


COLUMN_NAMES, LABEL_NAMES = _names(COLUMNS), _names(LABELS)


def read_heading(text: str) -> tuple[str, str]:
    """Return the field of a heading and its unit; both may be empty."""
    if len(text) > LONGEST:
        return "", ""
    words = fold(text).split()
    unit = next((word for word in words if word in UNITS), "")
    names = [" ".join(word for word in fold(name).split() if word not in UNITS) for name in text.split("/")]
    fields = {COLUMN_NAMES[name] for name in names if name in COLUMN_NAMES}
    return (fields.pop() if len(fields) == 1 else ""), unit


def read_label(text: str) -> tuple[str, str]:
    """Return the field of a label such as `RENK: Beyaz`, and the value if it is in the same cell."""
    label, _colon, value = text.partition(":")
    fields = {LABEL_NAMES[fold(name)] for name in label.split("/") if fold(name) in LABEL_NAMES}
    return (fields.pop() if len(fields) == 1 else ""), value.strip()
