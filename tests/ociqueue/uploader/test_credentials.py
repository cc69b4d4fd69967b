"""Logins are sealed at rest, opened by any key, and checked by a worker."""

import pytest

from kilit.access.encryption import DecryptionError
from kilit.sentences import english
from kilit.workers import doorbells
from ociqueue.models import Credentials
from ociqueue.models.credentials import normalize_action, normalize_customer_id
from ociqueue.uploader.connection_test import check
from ociqueue.uploader.upload_run import upload_due
from tests.support.commands import output_of
from tests.support.uploads import account

pytestmark = pytest.mark.django_db(transaction=True)


def test_nothing_readable_is_stored_or_printed(api_site, sql) -> None:
    (stored,) = sql("SELECT encrypted FROM ociqueue_credentials")
    printed = repr(Credentials.objects.get().account()) + str(Credentials.objects.get())

    for word in ("client-secret-word", "refresh-token-word", "1234567890"):
        assert word not in stored[0]
    for word in ("client-secret-word", "refresh-token-word"):
        assert word not in printed


def test_keys_rotate(api_site, settings) -> None:
    """The new word goes in front, everything is resealed, the old word goes."""
    settings.CREDENTIAL_KEYS = ["old"]
    Credentials.objects.store(api_site, account())
    settings.CREDENTIAL_KEYS = ["new", "old"]
    assert Credentials.objects.get().account() == account()

    assert output_of("reencrypt_secrets") == "Encrypted 1.\n"
    settings.CREDENTIAL_KEYS = ["new"]

    assert Credentials.objects.get().account() == account()
    settings.CREDENTIAL_KEYS = ["old"]
    with pytest.raises(DecryptionError):
        Credentials.objects.get().account()


def test_without_keys_of_their_own_logins_survive_a_rotation_of_the_secret_key(api_site, settings) -> None:
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "another"

    assert Credentials.objects.get().account() == account()


def test_what_people_type() -> None:
    assert normalize_customer_id(" 123-456-7890 ") == "1234567890"
    assert normalize_action("7", customer_id="1234567890") == "customers/1234567890/conversionActions/7"
    for nonsense in ("", "123", "12345678901", "١٢٣٤٥٦٧٨٩٠"):
        with pytest.raises(ValueError, match="ten digits"):
            normalize_customer_id(nonsense)
    for nonsense in ("", "AW-123", "customers/1/conversionActions/7"):
        with pytest.raises(ValueError, match="conversion action"):
            normalize_action(nonsense, customer_id="1234567890")
    with pytest.raises(ValueError, match="to customer 1111111111"):
        normalize_action("customers/1111111111/conversionActions/7", customer_id="1234567890")


def findings(credentials: Credentials) -> dict[str, tuple[bool, str]]:
    return {finding.what: (finding.passed, finding.message) for finding in check(credentials)}


def test_a_healthy_login_passes(google, api_site) -> None:
    kept = Credentials.objects.get()
    kept.request_check()
    assert doorbells.doorbells["oci_check_credentials"].is_due()

    doorbells.handle("oci_check_credentials")

    kept.refresh_from_db()
    assert kept.check_passed
    assert [english(finding["what"]) for finding in kept.check_report] == ["Login", "Customer", "Conversion action"]
    assert not doorbells.doorbells["oci_check_credentials"].is_due()


def test_a_check_vouches_for_no_login_but_its_own(google, api_site) -> None:
    kept = Credentials.objects.get()
    kept.request_check()
    Credentials.objects.store(api_site, account(refresh_token="another"))

    check(kept)

    kept.refresh_from_db()
    assert kept.check_passed is None


def test_a_login_that_google_refuses(google, api_site) -> None:
    google.login = "invalid_grant"

    found = findings(Credentials.objects.get())

    assert list(found) == ["Login"]
    assert not found["Login"][0]
    assert Credentials.objects.get().check_passed is False


def test_an_action_that_is_not_there_or_takes_no_uploads(google, api_site) -> None:
    Credentials.objects.store(api_site, account(conversion_action="customers/1234567890/conversionActions/8"))
    assert findings(Credentials.objects.get())["Conversion action"] == (
        False,
        "customers/1234567890/conversionActions/8 is not in this account.",
    )

    google.search = lambda asked: [
        {**row, "conversion_action": {**row["conversion_action"], "type_": 2}} if "conversion_action" in row else row
        for row in google._account(asked)
    ]
    Credentials.objects.store(api_site, account())
    assert "enabled action for click imports" in findings(Credentials.objects.get())["Conversion action"][1]


def test_conversions_that_another_account_counts(google, api_site) -> None:
    def elsewhere(asked):
        rows = google._account(asked)
        for row in rows:
            if "customer" in row:
                row["customer"]["conversion_tracking_setting"]["google_ads_conversion_customer"] = "customers/99"
        return rows

    google.search = elsewhere

    assert findings(Credentials.objects.get())["Another account owns the conversions"][0] is False


def test_each_conversion_name_may_have_an_action_of_its_own(google, api_site, make_rows) -> None:
    special = "customers/1234567890/conversionActions/8"
    Credentials.objects.store(api_site, account(conversion_actions={"Kayıt": special}))
    make_rows(api_site, "a", action="Satış")
    make_rows(api_site, "b", action="Kayıt")

    upload_due()

    (call,) = google.calls
    assert {row.gclid: row.conversion_action[-1] for row in call.request.conversions} == {"a": "7", "b": "8"}
