"""The Ads Script sends consent where it was given; what was denied is not even exported, unless the site sends it."""

from tests.support.ads_script import COMPLETED, SHARED_COLUMNS, outcomes


def test_consent_is_uploaded_with_the_rows_that_have_it(run_script, make_site, make_conversion) -> None:
    site = make_site(denied_consent="SEND")
    consents = {"consent_ad_user_data": "GRANTED", "consent_ad_personalization": "DENIED"}
    rows = [
        make_conversion(site, gclid="asked", **consents),
        make_conversion(site, gclid="not-asked"),
        make_conversion(site, wbraid="half-asked", consent_ad_user_data="DENIED"),
        make_conversion(site, gbraid="nobody-asked"),
    ]

    run = run_script(site)

    assert [upload["columns"] for upload in run.uploads] == [
        ["Google Click ID", *SHARED_COLUMNS, "Ad User Data", "Ad Personalization"],
        ["WBRAID", *SHARED_COLUMNS, "Ad User Data"],
        ["GBRAID", *SHARED_COLUMNS],
    ]
    assert [row[6:] for upload in run.uploads for row in upload["rows"]] == [
        ["Granted", "Denied"],
        ["", ""],
        ["Denied"],
        [],
    ]
    assert outcomes(*rows) == [COMPLETED] * 4


def test_what_was_denied_is_not_uploaded_by_default(run_script, site, make_conversion) -> None:
    denied, other = make_conversion(site, consent_ad_user_data="DENIED"), make_conversion(site)

    run = run_script(site)

    assert [len(upload["rows"]) for upload in run.uploads] == [1]
    denied.refresh_from_db()
    assert (outcomes(other), denied.status, denied.attempt_count) == ([COMPLETED], "QUEUED", 0)
