"""Probes: up, ready, and what the queues hold."""

import re
from datetime import timedelta

import pytest
from django.db import DatabaseError
from django.db.models.functions import Now
from django.test import Client, override_settings

import kilit
from config.web import views
from kilit.api import probes
from kilit.lock.models import Count
from kilit.workers.models import Heartbeat, Runner
from ociqueue.models import Adjustment, Site
from outbox.models import OutboxMessage
from tests.apps.parcels.models import Parcel
from tests.support.adjusted import api_site, make_sold, restate
from tests.support.conversions import new_conversion
from tests.support.cutting_jobs import new_job
from tests.support.outbox import make_message
from tests.support.pdf_jobs import bare_job

pytestmark = pytest.mark.django_db


def test_a_running_process_is_healthy() -> None:
    assert Client().get("/healthz").json() == {"status": "ok"}


def test_probes_answer_whatever_the_host_is_called() -> None:
    assert Client().get("/healthz", headers={"host": "10.0.0.5"}).status_code == 200
    assert Client().get("/metrics", headers={"host": "10.0.0.5"}).status_code == 200


def test_ready_needs_a_worker_that_proved_itself() -> None:
    silent = Client().get("/readyz")
    Heartbeat.objects.create(name="here:1", alive_at=Now())
    alive = Client().get("/readyz")

    assert silent.status_code == 503
    assert silent.json()["checks"]["workers"] == "none running: run manage.py runworkers"
    assert (alive.status_code, alive.json()["status"]) == (200, "ok")


def test_ready_and_metrics_say_the_version_and_the_build(settings) -> None:
    settings.BUILD = "1a2b3c4"

    ready, exported = Client().get("/readyz").json(), Client().get("/metrics").content.decode()

    assert (ready["version"], ready["build"]) == (kilit.__version__, "1a2b3c4")
    assert f'kilit_build_info{{build="1a2b3c4",version="{kilit.__version__}"}} 1.0' in exported


def test_ready_needs_every_migration(monkeypatch) -> None:
    monkeypatch.setattr(probes, "is_migrated", lambda: False)

    answer = Client().get("/readyz")

    assert answer.status_code == 503
    assert answer.json()["checks"]["migrations"] == "some are missing: run manage.py migrate"


def test_a_database_that_does_not_answer_is_reported_not_raised(monkeypatch) -> None:
    def fail(*_: object) -> None:
        raise DatabaseError

    monkeypatch.setattr(probes, "is_migrated", fail)
    monkeypatch.setattr(views, "generate_latest", fail)

    assert Client().get("/readyz").json()["checks"]["database"] == "not responding"
    assert Client().get("/metrics").status_code == 503


def metric(name: str, **labels: str) -> float:
    text = Client().get("/metrics").content.decode()
    wanted = ",".join(f'{key}="{value}"' for key, value in labels.items())
    (found,) = re.findall(rf"^{name}{{{wanted}}} (\S+)$", text, re.MULTILINE)
    return float(found)


def test_metrics_have_rows_and_moves_folded_or_not() -> None:
    Parcel.objects.bulk_create(Parcel(depot=depot) for depot in ("east", "west", "west"))
    Count.objects.fold()
    Parcel.objects.filter(depot="east").move("lose")
    Parcel.objects.filter(depot="east").move("resend")

    assert metric("kilit_rows", queue="parcel", state="WAITING") == 3
    assert metric("kilit_rows", queue="parcel", state="LOST") == 0
    assert metric("kilit_moves_total", queue="parcel", state="WAITING") == 4
    assert metric("kilit_moves_total", queue="parcel", state="LOST") == 1


def test_metrics_have_the_age_of_heartbeats_and_of_runners() -> None:
    Heartbeat.objects.create(name="here:1", beat_at=Now())
    Runner.objects.create(name="here:1", queue="parcel", pid=1)

    assert 0 <= metric("kilit_heartbeat_age_seconds", supervisor="here:1") < 60
    assert 0 <= metric("kilit_runner_age_seconds", runner="here:1") < 60


AN_HOUR_AGO = Now() - timedelta(hours=1)


def conversion_waits() -> None:
    site = Site.objects.create(name="Ege")
    new_conversion(site, created_at=AN_HOUR_AGO).save()
    new_conversion(site).save()


def adjustment_waits() -> None:
    restate(make_sold(api_site()))
    Adjustment.objects.update(created_at=AN_HOUR_AGO)


def message_waits() -> None:
    make_message()
    OutboxMessage.objects.update(next_try_at=AN_HOUR_AGO)


WAITING = {
    "conversion": conversion_waits,
    "adjustment": adjustment_waits,
    "pdf": lambda: bare_job(queued_at=AN_HOUR_AGO),
    "cutting_job": lambda: new_job(next_run_at=AN_HOUR_AGO),
    "message": message_waits,
}


@pytest.mark.parametrize("queue", WAITING)
def test_metrics_have_the_age_of_what_waits_longest_in_each_queue(queue: str) -> None:
    assert metric("kilit_oldest_waiting_seconds", queue=queue) == 0

    WAITING[queue]()

    assert 3600 <= metric("kilit_oldest_waiting_seconds", queue=queue) < 3700


def test_metrics_may_be_kept_for_who_has_the_token() -> None:
    with override_settings(METRICS_TOKEN="s3cret"):
        assert Client().get("/metrics").status_code == 401
        assert Client().get("/metrics", headers={"authorization": "Bearer wrong"}).status_code == 401
        assert Client().get("/metrics", headers={"authorization": "Bearer s3cret"}).status_code == 200
