"""Hashed e-mail and phone in uploads through the Google Ads API."""

import pytest
from google.ads.googleads.v26.resources.types.customer import ConversionTrackingSetting, Customer

from ociqueue.codes.table import EXPECTED_FAILURES
from ociqueue.models import Conversion, Credentials
from ociqueue.uploader.connection_test import CUSTOMER, check
from ociqueue.uploader.upload_run import upload_due
from tests.support.uploads import states

pytestmark = pytest.mark.django_db(transaction=True)

EMAIL, EMAIL_ADS, PHONE = "a" * 64, "b" * 64, "c" * 64
FAMILY = "conversion_upload_error"


def identifiers(google) -> list[dict[str, str]]:
    """Return what identifies each row of the only request."""
    (call,) = google.calls
    return [
        {
            name: str(getattr(part, name))
            for part in (row, *row.user_identifiers)
            for name in ("gclid", "hashed_email", "hashed_phone_number")
            if getattr(part, name, "")
        }
        for row in call.request.conversions
    ]


def test_hashes_are_sent_beside_the_click_id_or_alone(google, api_site, make_rows) -> None:
    make_rows(api_site, "Cj0")
    make_rows(api_site, "Cj1", hashed_email=EMAIL, hashed_email_ads=EMAIL_ADS, hashed_phone=PHONE)
    make_rows(api_site, "", hashed_email=EMAIL)

    upload_due()

    # The e-mail by the rule of this API, where it gives another hash.
    assert sorted(identifiers(google), key=str) == [
        {"gclid": "Cj0"},
        {"gclid": "Cj1", "hashed_email": EMAIL_ADS, "hashed_phone_number": PHONE},
        {"hashed_email": EMAIL},
    ]
    assert {
        one.user_identifier_source for row in google.calls[0].request.conversions for one in row.user_identifiers
    } == {2}
    assert states(api_site) == ["COMPLETED"] * 3


def test_rows_without_click_ids_at_the_same_second_are_no_duplicates(google, api_site, make_rows) -> None:
    (first,) = make_rows(api_site, "", hashed_email=EMAIL)
    same = {"conversion_time": first.conversion_time}
    make_rows(api_site, "", hashed_email=EMAIL_ADS, **same)
    make_rows(api_site, "", hashed_phone=PHONE, **same)

    upload_due()

    assert len(google.calls) == 1
    assert states(api_site) == ["COMPLETED"] * 3


def test_the_same_person_at_the_same_second_is_sent_in_another_request(google, api_site, make_rows) -> None:
    (first,) = make_rows(api_site, "", hashed_email=EMAIL)
    make_rows(api_site, "", hashed_email=EMAIL, conversion_time=first.conversion_time)

    upload_due()

    assert len(google.calls[0].request.conversions) == 1


def test_a_person_without_a_click_is_an_expected_failure(google, api_site, make_rows) -> None:
    make_rows(api_site, "", hashed_email=EMAIL)
    google.errors[EMAIL] = [{"family": FAMILY, "name": "CLICK_NOT_FOUND"}]

    upload_due()

    assert Conversion.objects.get().provider_error_code in EXPECTED_FAILURES


def test_a_hash_that_google_ads_quotes_is_not_stored(google, api_site, make_rows) -> None:
    make_rows(api_site, "", hashed_email=EMAIL)
    google.errors[EMAIL] = [{"family": FAMILY, "name": "INVALID_USER_IDENTIFIER", "message": f"Bad: '{EMAIL}'."}]

    upload_due()

    row = Conversion.objects.get()
    assert (row.provider_error_code, EMAIL in row.last_error) == ("INVALID_USER_IDENTIFIER", False)
    assert "Bad: '…'." in row.last_error


@pytest.mark.parametrize("accepts", [True, False])
@pytest.mark.parametrize(("terms", "setting"), [(True, 3), (True, 2), (True, 0), (False, 3), (False, 2)])
def test_the_connection_test_names_what_hashes_need(google, make_api_site, accepts, terms, setting) -> None:
    make_api_site(accepts_identifiers=accepts)
    google.terms = {"accepted_customer_data_terms": terms, "effective_enablement_setting": setting}

    findings = check(Credentials.objects.get())

    wrong = {("Customer data terms", not terms), ("Enhanced conversions", setting == 2)}
    assert {one.what for one in findings if not one.passed} == {
        what for what, is_wrong in wrong if accepts and is_wrong
    }
    assert ("Enhanced conversions" in {one.what for one in findings}) == accepts


def test_the_connection_test_asks_only_for_fields_that_this_version_has() -> None:
    """Google refuses a query with an unknown field as a whole, and the stand-in does not read queries."""
    known = {f"customer.{name}" for name in Customer.meta.fields} | {
        f"customer.conversion_tracking_setting.{name}" for name in ConversionTrackingSetting.meta.fields
    }

    assert set(CUSTOMER.replace(",", " ").split()) - {"SELECT", "FROM", "customer"} <= known
