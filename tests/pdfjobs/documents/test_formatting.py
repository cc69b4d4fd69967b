"""Numbers, money and dates are formatted by the document's language alone."""

from datetime import date
from decimal import Decimal

import pytest
from django.utils import translation
from hypothesis import given
from hypothesis import strategies as st

from pdfjobs.documents.formatting import LocaleFormatter, cents

TR, EN = LocaleFormatter("tr", "TRY"), LocaleFormatter("en", "EUR")
AMOUNTS = st.decimals(-(10**9), 10**9, places=2, allow_nan=False, allow_infinity=False)


@pytest.mark.parametrize(
    ("value", "tr", "en"),
    [
        ("1234567.5", "₺1.234.567,50", "€1,234,567.50"),
        ("0", "₺0,00", "€0.00"),
        ("-12", "−₺12,00", "−€12.00"),
        ("1384.255", "₺1.384,255", "€1,384.255"),
        ("0.1", "₺0,10", "€0.10"),
        ("1E+3", "₺1.000,00", "€1,000.00"),
    ],
)
def test_money(value: str, tr: str, en: str) -> None:
    assert (TR.money(Decimal(value)), EN.money(Decimal(value))) == (tr, en)


def test_percents_days_and_plain_numbers() -> None:
    assert (TR.percent(Decimal(20)), EN.percent(Decimal("8.50"))) == ("%20", "8.5%")
    assert (TR.day(date(2026, 8, 3)), EN.day(date(2026, 8, 3))) == ("3\xa0Ağustos\xa02026", "3\xa0August\xa02026")
    assert (TR.day(None), TR.short_day(date(2026, 9, 1))) == ("", "1\xa0Eyl")
    assert (TR.number(Decimal(100)), TR.number(Decimal("2164.50"), grouped=False)) == ("100", "2164,5")


@given(AMOUNTS)
def test_no_digit_is_lost_on_the_way_to_paper(amount: Decimal) -> None:
    written = TR.money(amount).replace("₺", "").replace(".", "").replace(",", ".").replace("−", "-")

    assert Decimal(written) == amount


@given(AMOUNTS, st.sampled_from(["tr", "en", "de"]))
def test_the_language_of_the_process_plays_no_part(amount: Decimal, language: str) -> None:
    with translation.override(language):
        assert TR.money(amount) == LocaleFormatter("tr", "TRY").money(amount)


def test_half_a_cent_goes_up() -> None:
    assert [cents(Decimal(text)) for text in ("0.005", "0.015", "-0.005")] == [
        Decimal("0.01"),
        Decimal("0.02"),
        Decimal("-0.01"),
    ]
