"""The uploader's doors: command, rehearsal, address, clock and bell."""

import logging
from functools import partial

import pytest
from django.core.management import CommandError
from django.db.models.functions import Now

from kilit.lock.models import Event
from kilit.workers import doorbells, sweeps
from kilit.workers.models import Heartbeat
from ociqueue.models import Circuit, Site, UploadBatch
from ociqueue.states import Category
from simulators.googleads.server import accept
from tests.support.api import Api
from tests.support.commands import output_of
from tests.support.conversions import DAY
from tests.support.uploads import states

pytestmark = pytest.mark.django_db(transaction=True)


upload = partial(output_of, "oci_upload")


def test_the_command_uploads_and_says_what_it_did(google, api_site, make_rows) -> None:
    make_rows(api_site, "good", "FAIL-EXPIRED_EVENT-1")

    assert upload() == "Uploaded 1, failed 1, deferred 0 in 1 batch.\n"
    assert upload() == "Uploaded 0, failed 0, deferred 0 in 0 batches.\n"
    assert set(Event.objects.filter(to_state="COMPLETED").values_list("actor", flat=True)) == {"command:oci_upload"}


def test_a_rehearsal_reports_each_row_and_writes_nothing(google, api_site, make_rows, sql) -> None:
    """`validate_only` gives a result per row."""
    good, bad = make_rows(api_site, "good", "FAIL-UNPARSEABLE_GCLID-1")
    before = sql("SELECT * FROM offline_conversion_queue ORDER BY id")

    said = upload("--dry-run")

    assert (google.calls[0].request.validate_only, google.calls[0].request.job_id) == (True, 0)
    assert google.applied == {}
    assert f"{good} would be accepted" in said
    assert f"{bad} would not: UNPARSEABLE_GCLID (VALIDATION, FATAL)" in said
    assert "1 would be accepted, 1 would not. Nothing was written." in said
    assert sql("SELECT * FROM offline_conversion_queue ORDER BY id") == before
    assert not UploadBatch.objects.exists()
    assert not Circuit.objects.exists()


def test_a_rehearsal_reports_that_the_developer_token_is_not_on_googles_list(google, api_site, make_rows) -> None:
    """Google says so under `validate_only`, too."""
    (row,) = make_rows(api_site, "good")
    refusal = {"family": "not_allowlisted_error", "name": "CUSTOMER_NOT_ALLOWLISTED_FOR_THIS_FEATURE"}
    google.replies.append(lambda call: call.refuse("PERMISSION_DENIED", refusal))

    said = upload("--dry-run")

    assert google.calls[0].request.validate_only
    assert f"{row} would not: CUSTOMER_NOT_ALLOWLISTED_FOR_THIS_FEATURE (AUTH, GATE)" in said
    assert "Switch the site to the Data Manager API" in said
    assert not Circuit.objects.exists(), "a rehearsal writes nothing"


def test_a_rehearsal_leaves_twins_out_as_an_upload_does(google, api_site, make_rows) -> None:
    """Together Google would refuse both; an upload sends the second one later."""
    first, second = make_rows(api_site, "twin", "twin", conversion_time=f"{DAY}T10:00:00+00:00")

    said = upload("--dry-run")

    (call,) = google.calls
    assert [row.order_id for row in call.request.conversions] == [first.order_id]
    assert f"{first} would be accepted" in said
    assert f"{second} would not: TWIN_IN_BATCH" in said


def test_a_rehearsal_without_a_login_says_why(google, api_site, make_rows) -> None:
    make_rows(api_site, "good")
    google.login = "invalid_grant"

    with pytest.raises(CommandError, match="refresh token"):
        upload("--dry-run")
    assert not Circuit.objects.exists()


def test_one_site_alone(google, make_api_site, make_rows) -> None:
    mine, other = make_api_site(name="mine"), make_api_site(name="other")
    make_rows(mine, "one")
    make_rows(other, "two")

    upload("--site", mine.public_id)

    assert (states(mine), states(other)) == (["COMPLETED"], ["QUEUED"])


def test_a_site_that_cannot_upload_is_reported_why(make_site) -> None:
    script, no_login = make_site(name="s"), make_site(name="n", sync_method="api")

    with pytest.raises(CommandError, match="uses a script"):
        upload("--site", script.public_id)
    with pytest.raises(CommandError, match="has no credentials"):
        upload("--site", no_login.public_id)
    with pytest.raises(CommandError):
        upload("--site", "nonsense")
    with pytest.raises(CommandError, match="whole number from 1 to 2000"):
        upload("--dry-run", "--limit", "0")


@pytest.mark.parametrize("dry_run", [(), ("--dry-run",)])
def test_a_paused_site_is_reported_as_such(google, api_site, make_rows, dry_run) -> None:
    make_rows(api_site, "one")
    Site.objects.update(is_paused=True, pause_reason="legal hold")

    said = upload("--site", api_site.public_id, *dry_run)

    assert said == f"{api_site} is paused, so nothing is sent: legal hold\n"
    assert google.calls == []


def test_an_open_circuit_is_reported_until_its_probe_is_due(google, api_site, make_rows) -> None:
    """A dry run ignores the circuit: it shows whether the account is fixed."""
    make_rows(api_site, "one", action="Satış")
    make_rows(api_site, "two", action="Teklif")
    circuit = Circuit.objects.trip(api_site, code="INVALID_GRANT", category=Category.AUTH, reason="revoked")
    until = f"{circuit.next_probe_at:%Y-%m-%d %H:%M} UTC"
    warning = f"The circuit of {api_site} is open; next probe at {until}. INVALID_GRANT: revoked\n"
    site = ("--site", api_site.public_id)

    assert upload(*site) == warning
    assert upload(*site, "--dry-run").startswith(warning)
    assert len(google.calls) == 1, "the dry run's"

    Circuit.objects.all().probe_now()
    assert upload(*site).startswith("Uploaded 2")
    Circuit.objects.trip(api_site, action="Teklif", code="X", category=Category.VALIDATION, reason="gone")
    make_rows(api_site, "three", action="Satış")
    first, last = upload(*site).splitlines()
    assert "for Teklif is open" in first
    assert last.startswith("Uploaded 1")


@pytest.mark.parametrize("name", ["upload", "process-offline-conversions"])
def test_a_clock_of_ones_own_rings_a_worker(google, api_site, make_rows, settings, name) -> None:
    """The web process rings; it never talks to Google itself."""
    settings.CRON_SECRET = "tick"
    clock = Api()
    clock.headers = {"Authorization": "Bearer tick"}

    assert clock.get(f"cron/oci/{name}").json() == {"ok": True, "result": "Nothing is due."}
    make_rows(api_site, "one")
    refused = clock.post(f"cron/oci/{name}", {})
    assert (refused.status_code, refused.json()["error"]["code"]) == (503, "NO_WORKER")
    Heartbeat.objects.create(name="here", pid=1, alive_at=Now())
    assert clock.get(f"cron/oci/{name}").json()["result"] == "Rung."
    assert clock.post(f"cron/oci/{name}", {}).json()["result"] == "Rung already."
    clock.headers = {}
    assert clock.get(f"cron/oci/{name}").status_code == 401
    assert google.calls == []


def test_the_schedule_and_the_bell_upload(google, api_site, make_rows) -> None:
    make_rows(api_site, "one")
    assert doorbells.doorbells["oci_upload"].is_due()
    assert sweeps.sweeps["oci_upload"].every.total_seconds() == 600

    assert "Uploaded 1" in sweeps.run("oci_upload")
    assert not doorbells.doorbells["oci_upload"].is_due()


def test_click_ids_never_reach_the_logs(google, api_site, make_rows, caplog, capfd) -> None:
    """Neither ours nor those of Google's client, whatever fails, at any level."""
    caplog.set_level("DEBUG")
    theirs = logging.getLogger("google.ads.googleads.client")
    theirs.addHandler(caplog.handler)  # Google's loggers hand nothing on to ours
    make_rows(api_site, "CjSecretClick1", "CjSecretClick2")
    google.errors["CjSecretClick1"] = [{"family": "conversion_upload_error", "name": "EXPIRED_EVENT"}]
    google.replies.append(lambda call: call.refuse("INVALID_ARGUMENT", {"family": "field_error", "name": "REQUIRED"}))
    google.replies.append(accept)

    try:
        upload()
    finally:
        theirs.removeHandler(caplog.handler)

    printed = capfd.readouterr()
    assert len(google.calls) > 1
    assert "CjSecret" not in caplog.text + printed.out + printed.err
    for word in ("client-secret-word", "refresh-token-word", "a-token"):
        assert word not in caplog.text + printed.out + printed.err
