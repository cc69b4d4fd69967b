"""The error table, code by code, through the real messages."""

import pytest

from ociqueue.codes.google import GOOGLE_ADS, ads_meaning, worst
from ociqueue.states import Category, Disposition
from ociqueue.uploader.googleads.responses import read_response
from simulators.googleads.responses import response
from tests.support.google_ads_errors import CASES, ENUMS, NOT_CODES


@pytest.mark.parametrize(
    ("name", "disposition", "category"),
    [
        *(
            (name, "FATAL", "VALIDATION")
            for name in (
                "ConversionPrecedesClick",
                "TooRecentConversion",
                "INVALID_GCLID",
                "UNPARSEABLE_GCLID",
                "INVALID_FIELD_VALUES_IN_DATE_TIME",
                "DateError",
                "RESOURCE_NOT_FOUND",
                "CONVERSION_NOT_FOUND",
                "INVALID_ARGUMENT",
            )
        ),
        ("RESOURCE_EXHAUSTED", "RETRY", "RATE_LIMIT"),
        ("RATE_LIMIT", "RETRY", "RATE_LIMIT"),
        ("UNAVAILABLE", "RETRY", "TRANSIENT"),
        ("DEADLINE_EXCEEDED", "RETRY", "TRANSIENT"),
        ("BACKEND_ERROR", "RETRY", "TRANSIENT"),
        ("TEMPORARILY", "RETRY", "TRANSIENT"),
        ("an unknown name", "FATAL", "VALIDATION"),
    ],
)
def test_an_old_name_comes_to(name: str, disposition: str, category: str) -> None:
    assert (ads_meaning(name).disposition, ads_meaning(name).category) == (disposition, category)


def test_every_name_in_the_table_is_one_that_google_has() -> None:
    for family, codes in GOOGLE_ADS.items():
        if family != "grpc":
            assert set(codes) <= set(ENUMS[family].values_by_name), family


def test_every_error_of_adjustments_is_listed() -> None:
    family = "conversion_adjustment_upload_error"
    expected = {name for of_family, name, *_ in CASES if of_family == family}

    assert set(GOOGLE_ADS[family]) == expected == set(ENUMS[family].values_by_name) - {*NOT_CODES}


@pytest.mark.parametrize(
    ("names", "ends"),
    [
        (["UNPARSEABLE_GCLID", "NO_CONVERSION_ACTION_FOUND"], "FATAL"),
        (["TOO_RECENT_EVENT", "CUSTOMER_NOT_ACCEPTED_CUSTOMER_DATA_TERMS"], "GATE"),
        (["TOO_RECENT_EVENT", "ORDER_ID_ALREADY_IN_USE"], "DEFER"),
        (["CLICK_CONVERSION_ALREADY_EXISTS", "ORDER_ID_ALREADY_IN_USE"], "DUPLICATE"),
    ],
)
def test_the_worst_of_several(names: list[str], ends: str) -> None:
    assert worst(ads_meaning(name, family="conversion_upload_error") for name in names).disposition == ends


def test_an_unpublished_code_keeps_what_google_calls_it() -> None:
    reported = {"family": "internal_error", "name": "ERROR_CODE_NOT_PUBLISHED", "index": 0, "unpublished": "SECRET_17"}
    request = type("Request", (), {"conversions": [None], "validate_only": True})

    (result,) = read_response(response(request, [reported]), 1, request_id="r", dry_run=True)

    assert (result.disposition, result.category) == (Disposition.FATAL, Category.VALIDATION)
    assert "SECRET_17" in result.message
