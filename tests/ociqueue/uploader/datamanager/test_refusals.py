"""Requests that the Data Manager API refuses: each reason ends as its table says, over real HTTP."""

import json

import pytest

from kilit.lock.models import Event
from kilit.sentences import english
from ociqueue.codes.google import REFUSALS
from ociqueue.models import Circuit, Conversion, Credentials, UploadBatch
from ociqueue.states import Disposition
from ociqueue.uploader.results import GATES
from ociqueue.uploader.upload_run import upload_due
from simulators.datamanager import refusals
from simulators.datamanager.refusals import GoogleRefusal, Violation
from simulators.datamanager.server import refuse
from tests.support.uploads import account, probe_and_upload, states

pytestmark = pytest.mark.django_db(transaction=True)

ON_ROWS = [name for name, meaning in REFUSALS.items() if meaning.disposition == Disposition.FATAL]
ON_ACCOUNTS = [name for name, meaning in REFUSALS.items() if meaning.disposition in GATES]
TEMPORARY = [name for name, meaning in REFUSALS.items() if meaning.disposition == Disposition.RETRY]


def test_the_table_has_no_other_kinds() -> None:
    others = {name for name in REFUSALS if name not in (*ON_ROWS, *ON_ACCOUNTS, *TEMPORARY)}
    assert others == {"TOO_MANY_EVENTS"}
    assert all(REFUSALS[name].hint for name in (*ON_ROWS, *ON_ACCOUNTS) if name != "INVALID_ARGUMENT")


@pytest.mark.parametrize("reasons", [[*ON_ROWS, "A_NEW_NAME"], ["A_NEW_NAME"]], ids=["all in one answer", "one"])
def test_each_reason_that_names_a_row_fails_that_row_alone(data_manager, dm_site, make_rows, reasons) -> None:
    make_rows(dm_site, "good", *reasons, "fine")
    data_manager.refusals |= {reason: Violation("", reason, f"Google's words on {reason}.") for reason in reasons}

    upload_due()

    assert states(dm_site) == ["UPLOADED", *["FAILED"] * len(reasons), "UPLOADED"]
    for bad in Conversion.objects.filter(status="FAILED"):
        assert (bad.provider_error_code, bad.provider_error_category) == (bad.gclid, "VALIDATION")
        assert "Google's words on …." in bad.last_error, "which quotes the click id"
    assert [len(call.events) for call in data_manager.uploads] == [len(reasons) + 2, 2]
    assert not Circuit.objects.open().exists()


@pytest.mark.parametrize("reason", [*ON_ACCOUNTS, "A_NEW_NAME", "INVALID_FORMAT"])
@pytest.mark.by_day(8)
def test_a_reason_that_names_the_destination_opens_a_circuit(data_manager, dm_site, make_rows, reason) -> None:
    make_rows(dm_site, count=3)
    fault = GoogleRefusal(reason=reason, violations=[Violation("destinations[0].operating_account", reason)])
    data_manager.replies.append(refuse(fault))

    upload_due()

    assert states(dm_site) == ["RETRY"] * 3
    assert set(Conversion.objects.values_list("attempts_forgiven", "outcome_unknown")) == {(1, False)}
    circuit = Circuit.objects.open().get()
    wanted = REFUSALS.get(reason)
    only_action = wanted is not None and wanted.disposition == Disposition.GATE_ACTION
    assert circuit.action == (Conversion.objects.first().action if only_action else Circuit.EVERY_ACTION)
    assert circuit.code == reason
    assert len(data_manager.uploads) == 1, "nothing is bisected"


@pytest.mark.parametrize("reason", TEMPORARY)
def test_a_temporary_reason_leaves_rows_for_another_attempt(data_manager, dm_site, make_rows, reason) -> None:
    make_rows(dm_site, count=2)
    status = "RESOURCE_EXHAUSTED" if REFUSALS[reason].category == "RATE_LIMIT" else "UNAVAILABLE"
    data_manager.replies.append(refuse(GoogleRefusal(status, reason)))

    upload_due()

    is_limit = REFUSALS[reason].category == "RATE_LIMIT"
    assert states(dm_site) == ["RETRY"] * 2
    assert set(Conversion.objects.values_list("outcome_unknown", flat=True)) == {not is_limit}
    assert set(Conversion.objects.values_list("provider_error_code", flat=True)) == {reason}
    assert Circuit.objects.open().exists() == is_limit


def test_a_request_that_is_too_large_is_sent_in_halves(data_manager, dm_site, make_rows) -> None:
    make_rows(dm_site, count=4)

    def at_most_one(call):
        if len(call.events) > 1:
            raise refusals.invalid(Violation("events", "TOO_MANY_EVENTS"))
        return call.accept()

    data_manager.upload_reply = at_most_one

    upload_due()

    assert states(dm_site) == ["UPLOADED"] * 4
    assert len(data_manager.requests) == 4


@pytest.mark.parametrize(
    "clicks",
    [
        [*(f"row-{number}" for number in range(6)), "REFUSE-UNNAMED-1", "last"],
        ["a", "REFUSE-UNNAMED-1", "b", "REFUSE-INVALID_FORMAT-1", "c", "d"],
    ],
    ids=["alone", "beside one that it names"],
)
def test_rows_that_google_does_not_name_are_found_by_halving(data_manager, dm_site, make_rows, clicks) -> None:
    make_rows(dm_site, *clicks)

    upload_due()

    assert states(dm_site) == ["FAILED" if click.startswith("REFUSE") else "UPLOADED" for click in clicks]
    assert not Circuit.objects.open().exists()


def test_what_is_left_after_the_last_round_keeps_its_attempt(data_manager, dm_site, make_rows, monkeypatch) -> None:
    """Google may name one row at a time: the rest of the batch is sent by the next one."""
    monkeypatch.setattr("ociqueue.uploader.datamanager.provider.MOST_ROUNDS", 2)
    data_manager.most_violations = 1
    make_rows(dm_site, *[f"REFUSE-INVALID_FORMAT-{number}" for number in range(3)], "good")

    upload_due()

    assert states(dm_site) == ["FAILED"] * 3 + ["UPLOADED"]
    assert Conversion.objects.get(gclid="good").attempts_forgiven == 1
    assert list(UploadBatch.objects.order_by("created_at").values_list("size", "failed")) == [(4, 2), (2, 1)]


def test_a_place_outside_the_request_is_never_used(data_manager, dm_site, make_rows) -> None:
    make_rows(dm_site, "a", "b")
    data_manager.replies.append(refuse(refusals.invalid(Violation("events[2].currency", "INVALID_CURRENCY_CODE"))))

    upload_due()

    assert states(dm_site) == ["UPLOADED"] * 2
    assert [len(call.events) for call in data_manager.uploads] == [2, 1, 1], "as if no row were named"


@pytest.mark.parametrize(
    ("refusal", "wanted"),
    [
        (refusals.unauthenticated(), ("UNAUTHENTICATED", "Store a new refresh token")),
        (refusals.service_disabled(), ("SERVICE_DISABLED", "Enable it there (APIs & Services > Library)")),
        (refusals.scope_insufficient(), ("ACCESS_TOKEN_SCOPE_INSUFFICIENT", "Consent again with both scopes")),
        (refusals.permission_denied(), ("PERMISSION_DENIED", "Access and security")),
        (GoogleRefusal("PERMISSION_DENIED", "SOMETHING_NEW"), ("PERMISSION_DENIED", "SOMETHING_NEW")),
    ],
)
def test_each_fault_of_the_login_says_what_to_do(data_manager, dm_site, make_rows, refusal, wanted) -> None:
    code, hint = wanted
    make_rows(dm_site, "one")
    data_manager.replies.append(refuse(refusal))

    upload_due()

    circuit = Circuit.objects.open().get()
    assert (circuit.code, circuit.category) == (code, "AUTH")
    assert hint in english(circuit.reason)
    assert states(dm_site) == ["RETRY"]


def test_a_rejected_token_is_replaced_before_the_next_attempt(data_manager, dm_site, make_rows) -> None:
    make_rows(dm_site, "one")
    data_manager.replies.append(refuse(refusals.unauthenticated()))
    upload_due()
    assert (data_manager.logins, len(data_manager.uploads)) == (1, 1), "no retries of the client's own"

    probe_and_upload()

    assert states(dm_site) == ["UPLOADED"]
    assert not Circuit.objects.open().exists()


def test_a_wrong_action_stops_its_conversion_name_alone(data_manager, make_dm_site, make_rows) -> None:
    site = make_dm_site(login={"conversion_actions": {"Teklif": "customers/1234567890/conversionActions/404"}})
    make_rows(site, "a", action="Teklif")
    make_rows(site, "b", action="Satış")
    data_manager.unknown_actions.add("404")

    upload_due()

    assert states(site) == ["RETRY", "UPLOADED"]
    assert Circuit.objects.open().get().action == "Teklif"


def test_a_fault_of_the_account_that_names_a_row_concerns_all_rows(data_manager, dm_site, make_rows) -> None:
    make_rows(dm_site, "a", "b")
    place = Violation("events[0].event_source", "EVENT_SOURCE_AND_DESTINATION_MISMATCH")
    data_manager.replies.append(refuse(refusals.invalid(place)))

    upload_due()

    assert states(dm_site) == ["RETRY"] * 2
    assert len(data_manager.uploads) == 1


def test_a_rate_limit_stops_all_sites_of_the_project(data_manager, make_dm_site, make_rows) -> None:
    one, two, other = (make_dm_site(name=name) for name in ("one", "two", "other"))
    Credentials.objects.store(other, account(client_id="another"))
    make_rows(one, "a")
    data_manager.replies.append(refuse(refusals.exhausted(retry_after=120)))

    upload_due()

    assert {circuit.site for circuit in Circuit.objects.open()} == {one, two}
    assert {circuit.wait.total_seconds() for circuit in Circuit.objects.open()} == {120}


@pytest.mark.parametrize("answer", [{}, {"requestId": ""}, {"requestId": "x" * 65}])
def test_an_answer_without_a_receipt_proves_nothing(data_manager, dm_site, make_rows, answer) -> None:
    make_rows(dm_site, count=2)
    data_manager.replies.append(lambda _: answer)

    upload_due()

    assert set(Conversion.objects.values_list("status", "outcome_unknown", "provider_error_code")) == {
        ("RETRY", True, "UNPROVEN_ANSWER")
    }


def test_two_requests_with_the_same_receipt_are_not_believed(data_manager, make_dm_site, make_rows) -> None:
    """Their rows would be taken for one request's, and a verdict's places would mean other rows."""
    site = make_dm_site(login={"conversion_actions": {"Teklif": "customers/1234567890/conversionActions/8"}})
    make_rows(site, "a", action="Teklif")
    make_rows(site, "b", action="Satış")
    data_manager.replies.extend([lambda _: {"requestId": "same"}] * 2)

    upload_due()

    assert states(site) == ["UPLOADED", "RETRY"]


def test_warnings_are_noted_on_the_rows_that_they_name(data_manager, dm_site, make_rows) -> None:
    make_rows(dm_site, "a", "WARN-INVALID_FORMAT-1")

    upload_due()

    assert states(dm_site) == ["UPLOADED"] * 2
    noted = Event.objects.of(Conversion.objects.get(gclid__startswith="WARN")).get(event_type="PROVIDER_WARNING")
    assert "INVALID_FORMAT" in json.dumps(noted.details)
    assert Event.objects.filter(event_type="PROVIDER_WARNING").count() == 1
