"""Pages that refresh themselves: cheap while nothing moves, and a banner on all of them when work stops."""

import re
from datetime import timedelta

import pytest
from django.db import connection
from django.db.models.functions import Now
from django.test import Client
from django.test.utils import CaptureQueriesContext

from kilit.console.dashboard import live
from kilit.workers.models import Heartbeat
from ociqueue.models import Conversion
from tests.support.dashboard import BOARD, make_conversions, make_site
from tests.support.plans import explained, rows_read

pytestmark = pytest.mark.django_db

LIST = "/admin/ociqueue/conversion/"


@pytest.fixture(autouse=True)
def one_long_minute(monkeypatch) -> None:
    monkeypatch.setattr(live, "RENDERED_AGAIN_AFTER", timedelta(days=10_000))


def version_of(client: Client, address: str) -> str:
    found = re.search(r'data-version="([^"]+)"', client.get(address).content.decode())
    assert found
    return found[1].replace("&quot;", '"')


def refreshed(client: Client, address: str, version: str) -> int:
    return client.get(address, headers={"If-None-Match": version}).status_code


@pytest.mark.parametrize("address", ["/admin/", LIST, f"{LIST}groups/", "/admin/workers/", "/admin/lock/activity/"])
def test_a_page_is_rendered_again_only_after_a_move(admin_client, address: str) -> None:
    make_conversions(make_site(), waiting=1)
    version = version_of(admin_client, address)
    assert refreshed(admin_client, address, version) == 304

    Conversion.objects.claim(limit=1)

    answer = admin_client.get(address, headers={"If-None-Match": version})
    assert answer.status_code == 200
    assert answer["ETag"] != version
    assert refreshed(admin_client, address, answer["ETag"]) == 304


def test_a_jobs_page_follows_its_own_job(admin_client) -> None:
    make_conversions(make_site(), waiting=2)
    mine, other = Conversion.objects.all()
    address = f"{LIST}{mine.pk}/change/"
    version = version_of(admin_client, address)

    Conversion.objects.filter(pk=other.pk).mark_failed()
    assert refreshed(admin_client, address, version) == 304

    Conversion.objects.filter(pk=mine.pk).claim(limit=1)
    Conversion.objects.filter(pk=mine.pk).move("ack")
    assert refreshed(admin_client, address, version) == 200
    assert "data-live-ended" in admin_client.get(address).content.decode()


def test_ages_are_never_older_than_a_minute(admin_client, monkeypatch) -> None:
    monkeypatch.setattr(live, "RENDERED_AGAIN_AFTER", timedelta(microseconds=1))

    assert refreshed(admin_client, LIST, version_of(admin_client, LIST)) == 200


def test_a_version_is_of_one_reader_and_one_address(admin_client, make_person) -> None:
    version = version_of(admin_client, LIST)

    assert refreshed(make_person(role="admin"), LIST, version) == 200
    assert refreshed(admin_client, f"{LIST}?status=FAILED", version) == 200
    assert refreshed(Client(), LIST, version) == 302


def test_a_refresh_without_news_costs_a_few_small_queries(admin_client) -> None:
    make_conversions(make_site(), waiting=300)  # of a few rows on one page, the planner may well read all
    version = version_of(admin_client, LIST)

    with CaptureQueriesContext(connection) as captured:
        assert refreshed(admin_client, LIST, version) == 304

    assert len(captured) <= 6  # session, user and role; the last event, supervisors, runners
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE lock_event, offline_conversion_queue")  # it may believe that they are empty
        cursor.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off; SET LOCAL enable_sort = off")
    for query in captured:
        plan = explained(query["sql"])
        assert rows_read(plan, "lock_event", "offline_conversion_queue") <= 1, plan


@pytest.mark.parametrize(
    "address", ["/admin/", LIST, "/admin/ociqueue/site/add/", "/admin/preferences/", "/admin/live/"]
)
def test_a_stopped_worker_is_on_every_page(admin_client, address: str) -> None:
    assert "No worker is running" in admin_client.get(address).content.decode()

    Heartbeat.objects.create(name="pc:1:a", alive_at=Now())

    assert "No worker is running" not in admin_client.get(address).content.decode()


def test_a_stopped_worker_changes_every_version(admin_client) -> None:
    Heartbeat.objects.create(name="pc:1:a", alive_at=Now(), started_at=Now() - timedelta(hours=1))
    version = version_of(admin_client, LIST)

    Heartbeat.objects.update(alive_at=Now() - timedelta(minutes=2))

    assert refreshed(admin_client, LIST, version) == 200


def test_the_part_of_the_dashboard_has_a_version_too(admin_client) -> None:
    version = admin_client.get(BOARD, headers={"If-None-Match": "none"})["ETag"]

    assert refreshed(admin_client, BOARD, version) == 304
