"""Numbers as people type them."""

from decimal import Decimal

import pytest

from kilit.csv.numbers import read_number

NUMBERS = {
    "120,5": "120.5",
    "120.5": "120.5",
    " 40 ": "40",
    "1.205,50": "1205.50",
    "1,205.50": "1205.50",
    "1 205,5": "1205.5",
    "1\u00a0205": "1205",
    "1.234.567": "1234567",
    "0,125": "0.125",
    "0.125": "0.125",
    "1205.125": "1205.125",
    "-3": "-3",
}


@pytest.mark.parametrize(("typed", "number"), NUMBERS.items())
def test_a_comma_or_a_point_separates_decimals(typed, number) -> None:
    assert read_number(typed) == Decimal(number)


@pytest.mark.parametrize("typed", ["1.205", "1,205", "12.000", "-1.205"])
def test_what_could_be_thousands_or_decimals_is_refused(typed) -> None:
    with pytest.raises(ValueError, match=r"could be -?1\d+ or -?1.?\.\d{3}\. Write"):
        read_number(typed)


@pytest.mark.parametrize("typed", ["", "x", "1.205.00", "12.34.56", "5,", ",5", "1e5", "nan", "١٢", "1" * 29, "12 5"])
def test_other_text_is_no_number(typed) -> None:
    with pytest.raises(ValueError, match="Not a number"):
        read_number(typed)
