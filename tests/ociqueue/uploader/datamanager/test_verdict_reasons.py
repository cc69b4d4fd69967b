"""Every reason of a verdict ends in its disposition, and circuits that a verdict opened need one to close."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db.models.functions import Now
from django.utils import timezone

from kilit.lock.models import Event
from kilit.sentences import english
from ociqueue.codes.google import VERDICTS
from ociqueue.models import Circuit, Conversion, Receipt, Site
from ociqueue.states import Disposition, SyncMethod
from ociqueue.uploader.upload_run import upload_due
from ociqueue.uploader.verdict_run import ask_for_verdicts
from tests.support.later_provider import make_due
from tests.support.uploads import states

pytestmark = pytest.mark.django_db

TERMS = "DESTINATION_ACCOUNT_ENHANCED_CONVERSIONS_TERMS_NOT_SIGNED"
TOO_NEW = "DESTINATION_TOO_RECENTLY_CREATED"
WAITS_FOR_CIRCUIT = (Disposition.GATE, Disposition.GATE_ACTION)


@pytest.mark.parametrize(("name", "meaning"), [*VERDICTS.items(), ("SOMETHING_NEW", VERDICTS["INTERNAL_ERROR"])])
@pytest.mark.by_day(12)
def test_every_reason_ends_in_its_disposition(uploaded, later, name, meaning) -> None:
    (row,) = uploaded("one")
    later.reasons = {"one": [f"PROCESSING_ERROR_REASON_{name}"]}

    ask_for_verdicts()

    row.refresh_from_db()
    retried = meaning.disposition in (Disposition.RETRY, Disposition.DEFER, *WAITS_FOR_CIRCUIT)
    assert row.status == ("RETRY" if retried else "FAILED")
    assert (row.provider_error_code, row.provider_error_category) == (name, meaning.category)
    assert name in row.last_error
    assert meaning.hint, "an operator needs to know what to do"
    assert english(row.last_error).startswith(meaning.hint)
    assert row.attempts_forgiven == (1 if meaning.disposition in WAITS_FOR_CIRCUIT else 0)
    assert row.outcome_unknown == (meaning.disposition == Disposition.RETRY)
    circuits = {"GATE": [("", name)], "GATE_ACTION": [(row.action, name)]}.get(meaning.disposition, [])
    assert list(Circuit.objects.open().values_list("action", "code")) == circuits
    if meaning.disposition == Disposition.DEFER:
        assert row.next_retry_at > timezone.now() + timedelta(hours=5, minutes=59)


@pytest.mark.parametrize("name", [name for name, meaning in VERDICTS.items() if meaning.if_all])
def test_what_every_row_says_opens_the_circuit(uploaded, later, dm_site, name) -> None:
    uploaded("one", "two")
    later.reasons = {"one": [name], "two": [name]}

    ask_for_verdicts()

    assert states(dm_site) == ["RETRY", "RETRY"]
    assert list(Circuit.objects.open().values_list("action", "code", "needs_verdict")) == [("", name, True)]


@pytest.mark.parametrize("name", ["DUPLICATE_TRANSACTION_ID", "DUPLICATE_GCLID"])
def test_a_duplicate_is_success_only_for_a_row_in_doubt(later, dm_site, make_rows, name: str) -> None:
    make_rows(dm_site, "in doubt", outcome_unknown=True)
    make_rows(dm_site, "new")
    upload_due()
    make_due()
    later.reasons = {"in doubt": [name], "new": [name]}

    ask_for_verdicts()

    ends = dict(Conversion.objects.values_list("gclid", "status"))
    assert ends == {"in doubt": "COMPLETED", "new": "FAILED"}
    assert not Conversion.objects.filter(outcome_unknown=True).exists()


# Circuits


def pass_time_to_probe() -> None:
    Circuit.objects.open().update(next_probe_at=Now())


def probe_and_ask() -> None:
    pass_time_to_probe()
    upload_due()
    make_due()
    ask_for_verdicts()


@pytest.fixture
def open_circuit(uploaded, later) -> Callable[[str], Circuit]:
    """Let a verdict open a circuit; the rows wait for it."""

    def trip(reason: str) -> Circuit:
        uploaded("one", "two", "three")
        later.reasons = {click: [reason] for click in ("one", "two", "three")}
        ask_for_verdicts()
        upload_due()
        return Circuit.objects.open().get()

    return trip


@pytest.mark.parametrize("reason", [TERMS, TOO_NEW])
def test_only_the_verdict_on_a_probe_closes_the_circuit(open_circuit, later, dm_site, reason: str) -> None:
    circuit = open_circuit(reason)
    assert (circuit.needs_verdict, states(dm_site)) == (True, ["RETRY"] * 3)
    later.reasons = {}

    pass_time_to_probe()
    upload_due()
    assert sorted(states(dm_site)) == ["RETRY", "RETRY", "UPLOADED"]
    assert Circuit.objects.open().exists(), "the receipt says nothing about the fault"
    # The probe was sent after the circuit opened, also when both are moved into the past.
    Circuit.objects.update(opened_at=Now() - timedelta(hours=2))
    make_due()
    ask_for_verdicts()

    circuit.refresh_from_db()
    assert (circuit.status, circuit.needs_verdict, circuit.code) == ("CLOSED", False, "")
    upload_due()
    assert sorted(states(dm_site)) == ["COMPLETED", "UPLOADED", "UPLOADED"]


def test_a_new_action_is_probed_after_six_hours(open_circuit) -> None:
    circuit = open_circuit(TOO_NEW)

    assert circuit.next_probe_at > timezone.now() + timedelta(hours=5, minutes=59)


def test_a_probe_with_the_same_fault_keeps_the_circuit_open(open_circuit, later, dm_site) -> None:
    open_circuit(TERMS)

    probe_and_ask()

    assert Circuit.objects.open().get().code == TERMS
    assert states(dm_site) == ["RETRY"] * 3


def test_a_probe_does_not_fail_for_the_reason_that_blamed_the_account(open_circuit, later, dm_site) -> None:
    """Alone, the row says what all rows said before: the account is still at fault. The attempt counts."""
    open_circuit("UNKNOWN_CONSENT")

    probe_and_ask()

    assert Circuit.objects.open().get().code == "UNKNOWN_CONSENT"
    assert states(dm_site) == ["RETRY"] * 3
    attempts = [row.attempt_count - row.attempts_forgiven for row in Conversion.objects.all()]
    assert sorted(attempts) == [0, 0, 1]


def test_a_probe_that_is_rejected_for_its_own_data_closes_the_circuit(open_circuit, later, dm_site) -> None:
    circuit = open_circuit(TERMS)
    later.reasons = {click: ["INVALID_GCLID"] for click in ("one", "two", "three")}

    probe_and_ask()

    circuit.refresh_from_db()
    assert (circuit.status, sorted(states(dm_site))) == ("CLOSED", ["FAILED", "RETRY", "RETRY"])


@pytest.mark.parametrize("reasons", [["INTERNAL_ERROR"], []])
def test_a_verdict_that_proves_nothing_closes_nothing(open_circuit, later, reasons: list[str]) -> None:
    open_circuit(TERMS)
    later.reasons = dict.fromkeys(("one", "two", "three"), reasons)
    if not reasons:
        later.change = lambda status: status.pop("eventsIngestionStatus")

    probe_and_ask()

    assert Circuit.objects.open().exists()


def test_a_probe_that_was_sent_before_the_circuit_opened_does_not_close_it(open_circuit, later) -> None:
    open_circuit(TERMS)
    later.reasons = {}
    pass_time_to_probe()
    upload_due()
    make_due()
    Circuit.objects.update(opened_at=Now() + timedelta(minutes=1))

    ask_for_verdicts()

    assert Circuit.objects.open().exists()


def test_a_refusal_at_once_does_not_close_it_either(open_circuit, later) -> None:
    from ociqueue.uploader.results import RowResult

    open_circuit(TERMS)
    bad = RowResult(Disposition.FATAL, "INVALID_FORMAT", message="bad")
    later.at_once = dict.fromkeys(("one", "two", "three"), bad)

    pass_time_to_probe()
    upload_due()

    assert Circuit.objects.open().exists()
    assert Conversion.objects.filter(status="FAILED").count() == 1


@pytest.mark.parametrize("sender", [SyncMethod.API, SyncMethod.SCRIPT])
def test_a_site_that_has_another_sender_gets_no_circuit(uploaded, later, dm_site, sender: SyncMethod) -> None:
    uploaded("one", "two")
    later.reasons = {"one": [TERMS], "two": [TERMS]}
    Site.objects.filter(pk=dm_site.pk).update(sync_method=sender)

    ask_for_verdicts()

    assert not Circuit.objects.open().exists()
    assert states(dm_site) == ["RETRY", "RETRY"]
    assert list(Conversion.objects.values_list("attempts_forgiven", flat=True)) == [1, 1]


def test_the_circuit_is_opened_in_the_transaction_of_the_verdict(uploaded, later, monkeypatch) -> None:
    """After a crash in between, rows would be sent again at once to an account that is known to be at fault."""
    (row,) = uploaded("one")
    later.reasons = {"one": [TERMS]}
    events = Event.objects.count()

    def crash(*_args: object, **_columns: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("ociqueue.models.batch.ReceiptQuerySet.mark_settled", crash)
        with pytest.raises(KeyboardInterrupt):
            ask_for_verdicts()

    row.refresh_from_db()
    assert (row.status, Circuit.objects.exists(), Receipt.objects.open().count()) == ("UPLOADED", False, 1)
    assert Event.objects.count() == events
    make_due()
    ask_for_verdicts()
    row.refresh_from_db()
    assert (row.status, Circuit.objects.open().exists()) == ("RETRY", True)
