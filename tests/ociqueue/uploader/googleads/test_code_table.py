"""Every code of the error table, sent by the server through the real client, ends where the table says."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

import grpc
import pytest

from ociqueue.codes.google import FAMILIES, GOOGLE_ADS
from ociqueue.models import Circuit, Conversion, Site
from ociqueue.uploader.upload_run import upload_due
from tests.support.google_ads_errors import CASES, ENUMS

pytestmark = pytest.mark.django_db(transaction=True)

Case = tuple[str, str, str, str]  # family, name, disposition, category

# A number that this version of the client does not know has the meaning of its family.
UNKNOWN_NUMBER = 7999
OF_FAMILY = {"date_error": ("FATAL", "VALIDATION"), "quota_error": ("RETRY", "RATE_LIMIT")} | {
    **dict.fromkeys(("authentication_error", "authorization_error", "header_error"), ("GATE", "AUTH")),
    **dict.fromkeys(("resource_access_denied_error", "not_allowlisted_error"), ("GATE", "AUTH")),
    "size_limit_error": ("SPLIT", "VALIDATION"),
}
NUMBERS: list[Case] = [
    (family, f"{family}_{UNKNOWN_NUMBER}", *OF_FAMILY.get(family, ("FATAL", "VALIDATION"))) for family in ENUMS
]
ALL: list[Case] = [*CASES, *NUMBERS]
OF_GRPC = {
    **dict.fromkeys(("UNAVAILABLE", "DEADLINE_EXCEEDED", "ABORTED", "CANCELLED", "UNKNOWN", "INTERNAL"), "TRANSIENT"),
    "RESOURCE_EXHAUSTED": "RATE_LIMIT",
    **dict.fromkeys(("UNAUTHENTICATED", "PERMISSION_DENIED"), "AUTH"),
    **dict.fromkeys(("INVALID_ARGUMENT", "NOT_FOUND", "FAILED_PRECONDITION"), "VALIDATION"),
    # In no list: they say nothing about a row.
    **dict.fromkeys(("ALREADY_EXISTS", "OUT_OF_RANGE", "UNIMPLEMENTED", "DATA_LOSS"), "VALIDATION"),
}


def of(*dispositions: str) -> list[Case]:
    return [case for case in ALL if case[2] in dispositions]


def reported(case: Case) -> dict[str, Any]:
    family, name = case[:2]
    return {"family": family, **({"number": UNKNOWN_NUMBER} if case in NUMBERS else {"name": name})}


def upload_one_row_of_each(google: Any, site: Site, make_rows: Any, cases: Sequence[Case], **columns: Any) -> None:
    """Upload a row for each case, and answer it with that error."""
    clicks = [f"click-{number}" for number in range(len(cases))]
    google.errors |= {click: [reported(case)] for click, case in zip(clicks, cases, strict=True)}
    make_rows(site, *clicks, **columns)
    upload_due()


def ended(site: Site, cases: Iterable[Case]) -> Iterable[tuple[Case, Conversion]]:
    rows = {row.gclid: row for row in site.conversions.all()}
    for number, case in enumerate(cases):
        row = rows[f"click-{number}"]
        assert (row.provider_error_code, row.provider_error_category) == (case[1][:64], case[3]), case
        yield case, row


def waits(row: Conversion) -> timedelta:
    assert isinstance(row.next_retry_at, datetime)
    return row.next_retry_at - row.updated_at


def test_the_cases_are_the_whole_table() -> None:
    listed = {(family, name) for family, names in GOOGLE_ADS.items() for name in names if family != "grpc"}

    assert listed <= {case[:2] for case in CASES}
    assert FAMILIES.keys() - {"grpc"} == OF_FAMILY.keys()
    assert OF_GRPC.keys() | {"OK"} == {code.name for code in grpc.StatusCode}


def test_errors_of_rows_beside_rows_that_google_accepts(google, api_site, make_rows) -> None:
    """All in one upload. An account that accepts some rows is not at fault: its errors are retried."""
    make_rows(api_site, "accepted")
    cases = of("FATAL", "RETRY", "DEFER", "DUPLICATE", "GATE")

    upload_one_row_of_each(google, api_site, make_rows, cases)

    assert len(google.calls) == 1
    assert Conversion.objects.get(gclid="accepted").status == "COMPLETED"
    for case, row in ended(api_site, cases):
        fails = case[2] in ("FATAL", "DUPLICATE")  # nothing was sent before that Google could have
        assert (row.status, row.attempt_count, row.attempts_forgiven) == ("FAILED" if fails else "RETRY", 1, 0), case
        assert row.uploaded_at is row.open_batch_id is None, case
        assert fails or waits(row) >= timedelta(minutes=360 if case[2] == "DEFER" else 5), case


def test_a_duplicate_proves_a_row_whose_answer_was_lost(google, api_site, make_rows) -> None:
    cases = of("DUPLICATE")

    upload_one_row_of_each(google, api_site, make_rows, cases, outcome_unknown=True)

    assert set(api_site.conversions.values_list("status", "provider_error_code", "outcome_unknown")) == {
        ("COMPLETED", "", False)
    }


def test_faults_of_the_account_open_the_circuit_and_cost_no_attempt(google, api_site, make_rows) -> None:
    cases = of("GATE")

    upload_one_row_of_each(google, api_site, make_rows, cases)

    assert len(google.calls) == 1
    for case, row in ended(api_site, cases):
        assert (row.status, row.attempt_count, row.attempts_forgiven) == ("RETRY", 1, 1), case
    assert Circuit.objects.open().get().action == Circuit.EVERY_ACTION


def test_faults_of_an_action_hold_back_its_name(google, api_site, make_rows) -> None:
    cases = of("GATE_ACTION")
    for number, case in enumerate(cases):
        google.errors[f"click-{number}"] = [reported(case)]
        make_rows(api_site, f"click-{number}", action=case[1])

    upload_due()

    for case, row in ended(api_site, cases):
        assert (row.status, row.attempts_forgiven) == ("RETRY", 1), case
    assert set(Circuit.objects.open().values_list("action", "code")) == {(case[1], case[1]) for case in cases}


@pytest.mark.parametrize("is_whole_request", [True, False])
def test_a_version_that_google_shut_down_stops_all_sites(google, make_api_site, make_rows, is_whole_request) -> None:
    (case,) = of("GATE_ALL")
    first, second = make_api_site(), make_api_site()
    if is_whole_request:
        google.replies.append(lambda call: call.refuse("INVALID_ARGUMENT", reported(case)))

    upload_one_row_of_each(google, first, make_rows, [case])

    ((_case, row),) = ended(first, [case])
    assert (row.status, row.attempts_forgiven) == ("RETRY", 1)
    assert set(Circuit.objects.open().values_list("site", "code")) == {(first.pk, case[1]), (second.pk, case[1])}


@pytest.mark.parametrize("case", of("SPLIT"), ids=lambda case: case[1])
def test_a_request_that_is_too_large_is_sent_in_halves(google, api_site, make_rows, case: Case) -> None:
    def accept_two(call: Any) -> Any:
        if len(call.request.conversions) > 2:
            call.refuse("INVALID_ARGUMENT", reported(case))
        return call.accept()

    make_rows(api_site, count=4)
    google.replies.extend([accept_two] * 3)

    upload_due()

    assert [len(call.request.conversions) for call in google.calls] == [4, 2, 2]
    assert set(api_site.conversions.values_list("status", flat=True)) == {"COMPLETED"}
    assert not Circuit.objects.open().exists()


def test_a_grpc_status_without_a_failure(google, make_api_site, make_rows) -> None:
    """One site for each, all in one run."""
    by_site = {make_api_site(name=code): code for code in OF_GRPC}
    for site, code in by_site.items():
        make_rows(site, code)

    google.replies.extend([lambda call: call.refuse(call.request.conversions[0].gclid)] * len(by_site))
    upload_due()

    for site, code in by_site.items():
        row, category = site.conversions.get(), OF_GRPC[code]
        assert (row.status, row.provider_error_code, row.provider_error_category) == ("RETRY", code, category)
        assert row.outcome_unknown == (category == "TRANSIENT"), code
        # A single lost upload opens nothing, and uses an attempt.
        assert Circuit.objects.open().filter(site=site).exists() == (category != "TRANSIENT"), code
        assert row.attempts_forgiven == (category in ("AUTH", "VALIDATION")), code
