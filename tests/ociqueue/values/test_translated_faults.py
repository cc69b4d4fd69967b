"""Whatever is wrong with a value is said in the reader's language: in forms, imports and pages; the API is English."""

import ast
import inspect
from datetime import UTC, datetime
from typing import Any

import pytest
from django.utils.translation import override

from kilit.api import input_model
from ociqueue.intake.adjustments import read_adjustment
from ociqueue.schemas import adjustments, conversions
from ociqueue.schemas.conversions import read_columns
from ociqueue.values import identifiers
from tests.support.conversions import SALE

NOW = datetime.now(UTC)
LONG = "x" * 600
CONVERSIONS: list[dict[str, Any]] = [
    *({"gclid": each} for each in ("", " ", "null", "{gclid}", "a b", "a\x00", 5, LONG, "é", "a@b.co")),
    {"wbraid": "0AA"},
    *({"conversionName": each} for each in (None, LONG, 7)),
    *({"conversionTime": each} for each in (None, 7, "yesterday", "2026-11-01T10:00:00", "18/11/2026 13:00")),
    *({"conversionTime": each} for each in ("2999-01-01T00:00:00Z", "2001-01-01T00:00:00Z", "0001-01-01T00:00+14:00")),
    *({"conversionValue": each} for each in (None, -1, True, "1_000", "NaN", 10**12, 1.005)),
    *({"conversionCurrency": each} for each in ("TL", "XXXX", 5)),
    {"conversionCurrency": "TL", "conversionValue": 1.005},
    *({"eventSource": each} for each in ("SHOP", 5)),
    {"consent": "GRANTED", "consentAdUserData": "DENIED"},
    *({"email": each} for each in ("nobody", "ğ@firma.com", "a@ŞİRKET.com", ".@gmail.com", 5, LONG, "…")),
    *({"phone": each} for each in ("0532", "+90 (0)532 123 45 67")),
    *({"hashedEmail": each} for each in ("abc", identifiers.OF_NOTHING)),
    {"email": "a@b.co", "hashedEmail": "ab" * 32},
    {"sourceKey": LONG},
    {"surceKey": "order-1"},
    {f"field{number}": 1 for number in range(30)},
]
ADJUSTMENTS: list[dict[str, Any]] = [
    {"id": "0192e4a0-7c1e-7d2a-9b3c-4d5e6f708192", "orderId": "oci_1", "kind": "RETRACTION"},
    {"kind": "RETRACTION"},
    {"sourceKey": "a", "kind": "RETRACTION", "value": 5},
    {"sourceKey": "a", "kind": "RESTATEMENT"},
    {"sourceKey": "a", "kind": "REFUND"},
    {"sourceKey": "a", "kind": "RESTATEMENT", "value": "x"},
    {"id": "7", "kind": "RETRACTION"},
]


def faults(site: Any, language: str) -> list[str]:
    with override(language):
        read: list[Any] = [read_columns(site, {**SALE, **fields}, now=NOW) for fields in CONVERSIONS]
        read += [read_columns(site, {**SALE, "gclid": None}, now=NOW), read_columns(site, [], now=NOW)]
        read += [read_adjustment(item) for item in ADJUSTMENTS]
    assert all(isinstance(each, list) for each in read)
    return [error["message"] for errors in read for error in errors]


@pytest.mark.django_db
@pytest.mark.parametrize("accepts_identifiers", [True, False])
def test_no_fault_of_a_value_is_english_for_turkish_readers(make_site, accepts_identifiers) -> None:
    site = make_site(accepts_identifiers=accepts_identifiers)

    pairs = list(zip(faults(site, "en"), faults(site, "tr"), strict=True))

    assert [english for english, turkish in pairs if turkish == english] == []


@pytest.mark.parametrize("module", [conversions, adjustments, identifiers, input_model])
def test_every_fault_is_made_by_gettext(module) -> None:
    """What a reader sees is never a literal: a new fault without a translation is found here."""
    calls = [node for node in ast.walk(ast.parse(inspect.getsource(module))) if isinstance(node, ast.Call)]
    literal = [
        ast.unparse(call)
        for call in calls
        if isinstance(call.func, ast.Name) and call.func.id in ("invalid", "ValueError")
        for text in call.args[:1]
        if isinstance(text, ast.JoinedStr | ast.Constant)
    ]

    assert literal == []


def test_every_text_of_a_fault_is_translated() -> None:
    with override("tr"):
        english = [text for text in input_model.TEXTS.values() if input_model.gettext(text) == text]

    assert english == ["{error}"]
