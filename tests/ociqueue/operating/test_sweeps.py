"""Sweeps: from any mix of crashes, a row that can never succeed ends."""

from datetime import timedelta
from functools import cache

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from kilit.lock.models import Event
from kilit.workers import sweeps
from kilit.workers.due_rows import BoundSql
from kilit.workers.models import SweepRun
from ociqueue.models import Conversion, Site
from ociqueue.models.sending import failure
from tests.support.conversions import new_conversion
from tests.support.examples import few

pytestmark = pytest.mark.django_db


def grow_old() -> None:
    """Make every row look as if it had not changed for an hour."""
    hour_ago = timezone.now() - timedelta(hours=1)
    Conversion.objects.exclude(claimed_at=None).update(claimed_at=hour_ago)
    Conversion.objects.update(updated_at=hour_ago)


def let_time_pass() -> None:
    """Let an hour pass, and every sweep run that a supervisor would start: those with due rows."""
    grow_old()
    sweeps.reconcile()
    for name in ("oci_recover_processing", "oci_attempt_cap", "oci_requeue_transient"):
        SweepRun.objects.filter(name=name).update(taken_at=None)
        if name in sweeps.taken_in(take_statement().run()):
            sweeps.run(name)


@cache
def take_statement() -> BoundSql:
    """Keep the statement, as a supervisor does: to compile it takes longer than to run it."""
    return sweeps.take_statement()


def test_recover_takes_old_claims_only_and_leaves_the_counter(site, make_conversion) -> None:
    old, young = make_conversion(site), make_conversion(site)
    Conversion.objects.claim(limit=2)
    Conversion.objects.filter(pk=old.pk).update(claimed_at=timezone.now() - timedelta(minutes=16))

    assert Conversion.objects.recover() == 1

    old.refresh_from_db()
    young.refresh_from_db()
    assert (old.status, old.claimed_at, old.next_retry_at, old.attempt_count) == ("RETRY", None, None, 1)
    assert young.status == "PROCESSING"


@few(15)
@given(crashes=st.lists(st.sampled_from(["lost", "ack_failed"]), min_size=5, max_size=8))
def test_a_row_that_can_never_succeed_ends_after_five_claims_by_sweeps_alone(crashes: list[str]) -> None:
    site = Site.objects.create(name="Mobilya", requeue_transient=True)
    row = new_conversion(site)
    row.save()

    for crash in crashes:
        Conversion.objects.update(next_retry_at=None)
        if Conversion.objects.for_site(site).claim(limit=1) and crash == "ack_failed":
            row.move("ack_failed", **failure("UPLOAD_EXCEPTION", "TRANSIENT", "threw"))
        let_time_pass()

    let_time_pass()
    row.refresh_from_db()
    assert (row.status, row.attempt_count) == ("FAILED", 5)
    claims = Event.objects.of(row).filter(details__verb="claim").count()
    assert claims == row.attempt_count


def test_the_cap_with_a_minimum_age_spares_the_attempt_in_flight(site, make_conversion) -> None:
    make_conversion(site, attempt_count=4)
    Conversion.objects.claim(limit=1)

    assert Conversion.objects.cap(min_age=timedelta(minutes=15)) == 0
    assert Conversion.objects.cap() == 1


def test_each_path_has_its_own_cap(make_site, make_conversion) -> None:
    script, api = make_site(), make_site(sync_method="api")
    for site in (script, api):
        for attempts in (4, 5, 7, 8):
            make_conversion(site, attempt_count=attempts)

    Conversion.objects.cap()

    def capped(site: Site) -> list[int]:
        return sorted(site.conversions.filter(status="FAILED").values_list("attempt_count", flat=True))

    assert (capped(script), capped(api)) == ([5, 7, 8], [8])


def test_passing_failures_come_back_only_where_the_site_wants_it_and_later_each_time(
    make_site, make_conversion
) -> None:
    willing, unwilling = make_site(requeue_transient=True), make_site()
    rows = {}
    for site in (willing, unwilling):
        for category, attempts in (
            ("TRANSIENT", 1),
            ("TRANSIENT", 3),
            ("TRANSIENT", 5),
            ("VALIDATION", 1),
            ("AUTH", 1),
        ):
            row = make_conversion(site, attempt_count=attempts - 1)
            row.move("claim", claimed_at=timezone.now(), attempt_count=attempts)
            rows[site, category, attempts] = row.move("ack_failed", **failure("E", category, "no"))

    assert Conversion.objects.requeue_transient() == 2

    for (site, category, attempts), row in rows.items():
        row.refresh_from_db()
        again = site == willing and category == "TRANSIENT" and attempts < 5
        assert row.status == ("RETRY" if again else "FAILED")
        if again:
            minutes = (row.next_retry_at - timezone.now()).total_seconds() / 60
            assert minutes == pytest.approx(5 * 2 ** (attempts - 1), abs=1)


def test_commands_say_what_they_did_and_a_dry_run_does_nothing(site, make_conversion, capsys) -> None:
    make_conversion(site, attempt_count=4)
    Conversion.objects.claim(limit=1)
    grow_old()

    call_command("oci_recover_processing", dry_run=True)
    call_command("oci_recover_processing", min_age_minutes=120)
    call_command("oci_recover_processing")
    call_command("oci_attempt_cap", dry_run=True)
    call_command("oci_attempt_cap", max_attempts=9)
    call_command("oci_attempt_cap")
    call_command("oci_requeue_transient", dry_run=True)
    call_command("oci_requeue_transient")

    assert capsys.readouterr().out.splitlines() == [
        "Would recover 1.",
        "Recovered 0.",
        "Recovered 1.",
        "Would cap 1.",
        "Capped 0.",
        "Capped 1.",
        "Would requeue 0.",
        "Requeued 0.",
    ]
    assert Event.objects.of(Conversion.objects.get()).last().actor == "command:oci_attempt_cap"


@pytest.mark.parametrize(
    "arguments",
    [
        ("oci_attempt_cap", "--max-attempts", "0"),
        ("oci_attempt_cap", "--min-age-minutes", "-5"),
        ("oci_recover_processing", "--min-age-minutes", "99999999999999"),
        ("oci_recover_processing", "--min-age-minutes", "soon"),
    ],
)
def test_nonsense_arguments_are_refused_with_what_is_allowed(arguments: tuple[str, ...]) -> None:
    with pytest.raises(CommandError, match="is not a whole number from"):
        call_command(*arguments)


def test_the_schedule_has_every_sweep() -> None:
    assert sweeps.sweeps["oci_recover_processing"].every == timedelta(minutes=5)
    assert sweeps.sweeps["oci_attempt_cap"].every == timedelta(minutes=15)


def test_the_scheduled_cap_leaves_rows_of_the_last_15_minutes_alone(site, make_conversion) -> None:
    for age in (14, 16):
        row = make_conversion(site, attempt_count=5)
        Conversion.objects.filter(pk=row.pk).update(updated_at=timezone.now() - timedelta(minutes=age))

    assert sweeps.run("oci_attempt_cap") == "Capped 1."


@pytest.mark.parametrize("method", ["get", "post"])
def test_cron_addresses_run_the_same_sweeps(client, site, make_conversion, settings, method: str) -> None:
    settings.CRON_SECRET = "tick"
    row = make_conversion(site, attempt_count=4)
    Conversion.objects.claim(limit=1)
    grow_old()
    call = getattr(client, method)

    recovered = call("/api/cron/oci/recover-processing", headers={"authorization": "Bearer tick"})
    Conversion.objects.update(updated_at=timezone.now() - timedelta(hours=1))
    capped = call("/api/cron/oci/attempt-cap", headers={"authorization": "Bearer tick"})
    requeued = call("/api/cron/oci/requeue-transient", headers={"authorization": "Bearer tick"})

    assert [answer.json() for answer in (recovered, capped, requeued)] == [
        {"ok": True, "result": "Recovered 1."},
        {"ok": True, "result": "Capped 1."},
        {"ok": True, "result": "Requeued 0."},
    ]
    assert Event.objects.of(row).last().actor == "sweep:oci_attempt_cap"


def test_cron_addresses_need_the_secret(client, settings) -> None:
    settings.CRON_SECRET = ""
    assert client.get("/api/cron/oci/attempt-cap").status_code == 503

    settings.CRON_SECRET = "tick"
    assert client.get("/api/cron/oci/attempt-cap").status_code == 401
    assert client.post("/api/cron/oci/attempt-cap", headers={"authorization": "Bearer tock"}).status_code == 401
    assert client.put("/api/cron/oci/attempt-cap").status_code == 405
    assert client.get("/api/cron/oci/requeue-transient").status_code == 401
