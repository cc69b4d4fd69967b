"""Faults of the account open the circuit; rows wait unharmed, and one probe closes it."""

from datetime import timedelta

import pytest
from django.db.models.functions import Now

from kilit.lock.models import Event
from kilit.sentences import english
from ociqueue.models import Circuit, Conversion, Credentials, Site, UploadBatch
from ociqueue.states import Category, CircuitStatus
from ociqueue.uploader.upload_run import due_sites, upload_due
from tests.support.lifecycle_conformance import LifecycleConformance, Specimen
from tests.support.uploads import account, probe_and_upload, states

pytestmark = pytest.mark.django_db(transaction=True)


def make_circuit(**columns):
    return Circuit.objects.create(site=Site.objects.create(name="Mobilya"), **columns)


def open_columns():
    return {"reason": "no", "opened_at": Now(), "next_probe_at": Now()}


class TestCircuits(LifecycleConformance):
    specimen = Specimen(Circuit, make=make_circuit, changes={"trip": open_columns})


def test_a_revoked_login_claims_nothing_and_one_probe_after_the_fix_closes_it(google, api_site, make_rows) -> None:
    """invalid_grant: nothing claimed, circuit open with a reason, no attempt used; one probe, then the rest."""
    make_rows(api_site, count=5)
    google.login = "invalid_grant"

    tally = upload_due()

    assert google.calls == []
    assert not UploadBatch.objects.exists()
    assert set(Conversion.objects.values_list("status", "attempt_count")) == {("QUEUED", 0)}
    circuit = Circuit.objects.get()
    assert (circuit.status, circuit.code, circuit.category) == (CircuitStatus.OPEN, "INVALID_GRANT", Category.AUTH)
    assert "refresh token" in english(circuit.reason)
    assert str(api_site) in str(tally)

    upload_due()
    assert google.logins == 1, "an open circuit leaves Google alone until the probe is due"

    google.login = "ok"
    Credentials.objects.store(api_site, account(refresh_token="a-new-one"))
    upload_due()

    assert [len(call.request.conversions) for call in google.calls] == [1, 4]
    assert states(api_site) == ["COMPLETED"] * 5
    assert set(Conversion.objects.values_list("attempt_count", flat=True)) == {1}
    circuit.refresh_from_db()
    assert (circuit.status, circuit.reason) == (CircuitStatus.CLOSED, "")
    assert [event.event_type for event in Event.objects.of(circuit)] == ["JOB_CREATED", "STATE_OPEN", "STATE_CLOSED"]


@pytest.mark.slow  # takes seconds: many rows, many rounds or a wait
@pytest.mark.parametrize("how", ["it answers 503", "connection refused", "no such host"])
def test_a_login_that_cannot_be_asked_opens_the_circuit_for_a_minute_only(
    google, api_site, make_rows, settings, how
) -> None:
    make_rows(api_site, count=1)
    google.login = "down"
    if how != "it answers 503":
        uris = {"connection refused": "http://127.0.0.1:1/", "no such host": "http://x.invalid/"}
        settings.GOOGLE_TOKEN_URI = uris[how]

    upload_due()

    circuit = Circuit.objects.get()
    assert (circuit.code, circuit.category) == ("LOGIN_UNREACHABLE", Category.TRANSIENT)
    assert circuit.next_probe_at - circuit.opened_at == timedelta(minutes=1)
    assert states(api_site) == ["QUEUED"]


@pytest.mark.parametrize("level", ["request", "row"])
def test_an_account_that_is_not_on_googles_list_is_reported_in_plain_words(google, api_site, make_rows, level) -> None:
    """New integrations need the Data Manager API; the hint says so, not only CUSTOMER_NOT_ALLOWLISTED."""
    make_rows(api_site, "one")
    error = {"family": "not_allowlisted_error", "name": "CUSTOMER_NOT_ALLOWLISTED_FOR_THIS_FEATURE"}
    if level == "request":
        google.replies.append(lambda call: call.refuse("PERMISSION_DENIED", error))
    else:
        google.errors["one"] = [error]

    upload_due()

    reason = english(Circuit.objects.open().get().reason)
    assert "developer tokens, not accounts" in reason
    assert "Switch the site to the Data Manager API, or use the script." in reason
    assert states(api_site) == ["RETRY"]


def test_a_bad_conversion_action_holds_back_its_own_name_only(google, api_site, make_rows) -> None:
    make_rows(api_site, "a", "b", action="Broken")
    make_rows(api_site, "c", "d", action="Fine")
    missing = {"family": "conversion_upload_error", "name": "NO_CONVERSION_ACTION_FOUND"}
    google.errors |= {"a": [missing], "b": [missing]}

    upload_due()

    broken, fine = (api_site.conversions.filter(action=name) for name in ("Broken", "Fine"))
    assert set(broken.values_list("status", flat=True)) == {"RETRY"}
    assert set(fine.values_list("status", flat=True)) == {"COMPLETED"}
    assert Circuit.objects.open().get().action == "Broken"
    make_rows(api_site, "e", action="Fine")
    upload_due()
    assert set(fine.values_list("status", flat=True)) == {"COMPLETED"}

    google.errors.clear()
    probe_and_upload()

    assert set(broken.values_list("status", flat=True)) == {"COMPLETED"}
    assert not Circuit.objects.open().exists()


def test_keys_that_open_nothing_open_the_circuit(google, api_site, make_rows, settings) -> None:
    make_rows(api_site, count=1)
    settings.CREDENTIAL_KEYS = ["another"]

    upload_due()

    circuit = Circuit.objects.open().get()
    assert circuit.code == "CREDENTIALS_UNREADABLE"
    assert "KILIT_CREDENTIAL_KEYS" in circuit.reason


def test_what_is_not_due(google, make_api_site, make_site, make_rows) -> None:
    """No login, a pause, a script, nothing waiting: none of them rings."""
    paused = make_api_site(name="paused", is_paused=True, pause_reason="holiday")
    no_login = make_site(name="no login", sync_method="api")
    script = make_site(name="script")
    make_api_site(name="empty")
    for site in (paused, no_login, script):
        make_rows(site, f"of-{site}")

    assert list(due_sites()) == []
    upload_due()
    assert google.calls == []


def test_a_broken_conversion_name_does_not_keep_the_sites_circuit_open(google, api_site, make_rows) -> None:
    make_rows(api_site, "a", action="Broken")
    make_rows(api_site, "c", "d", action="Fine")
    google.errors["a"] = [{"family": "conversion_upload_error", "name": "NO_CONVERSION_ACTION_FOUND"}]
    Circuit.objects.trip(api_site, code="X", category=Category.TRANSIENT, reason="an outage that is over")
    probe_and_upload()

    assert set(api_site.conversions.filter(action="Fine").values_list("status", flat=True)) == {"COMPLETED"}
    assert Circuit.objects.open().get().action == "Broken"


def test_an_outage_is_noticed_over_several_runs(google, api_site, make_rows) -> None:
    """A small site sends one batch a run: its rows must not use up their attempts on a Google that is away."""
    make_rows(api_site, count=3)
    google.replies.extend([lambda call: call.refuse("UNAVAILABLE")] * 2)

    upload_due()
    assert not Circuit.objects.open().exists()
    Conversion.objects.update(next_retry_at=None)
    upload_due()

    assert Circuit.objects.open().get().category == Category.TRANSIENT


@pytest.mark.parametrize("action", ["", "Satış"])
def test_an_open_circuit_does_not_ring_until_its_probe_is_due(google, api_site, make_rows, action) -> None:
    make_rows(api_site, count=1, action="Satış")
    assert due_sites().exists()

    Circuit.objects.trip(api_site, action=action, code="X", category=Category.AUTH, reason="why")
    assert not due_sites().exists()
    Circuit.objects.all().probe_now()
    assert due_sites().exists()
