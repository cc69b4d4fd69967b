"""A runner is shown as alive while it runs."""

import os
from datetime import timedelta
from types import SimpleNamespace

import pytest
from django.db import OperationalError, connection
from django.db.models.functions import Now

from kilit.sentences import sentence, translated
from kilit.workers import presence
from kilit.workers.models import Runner
from kilit.workers.presence import present

LONG_REASON = sentence("TEST_LONG_REASON", "No answer within %(seconds)s seconds.")
LONG_AGO = Now() - timedelta(hours=1)

pytestmark = pytest.mark.django_db


def test_a_runner_is_shown_from_its_first_sign_to_its_end() -> None:
    with present("parcel") as sign:
        assert not Runner.objects.exists()
        sign()
        assert Runner.objects.alive().get(queue="parcel").pid == os.getpid()

    assert not Runner.objects.exists()


def test_signs_are_written_every_few_seconds_however_often_they_are_sent(
    monkeypatch, django_assert_num_queries
) -> None:
    clock = SimpleNamespace(monotonic=lambda: 100.0)  # stopped, however long the test takes
    monkeypatch.setattr(presence, "time", clock)
    with present("parcel") as sign:
        sign()
        Runner.objects.update(alive_at=LONG_AGO)
        with django_assert_num_queries(0):
            sign()
        assert not Runner.objects.alive().exists()

        clock.monotonic = lambda: 100.0 + presence.SIGN_EVERY.total_seconds()
        sign()

        assert Runner.objects.alive().exists()


def test_two_runners_on_one_machine_are_two() -> None:
    with present("parcel") as first, present("parcel") as second:
        first()
        second()

        assert Runner.objects.count() == 2


def test_a_runner_whose_row_was_deleted_is_shown_again(monkeypatch) -> None:
    monkeypatch.setattr(presence, "SIGN_EVERY", timedelta(0))
    with present("parcel") as sign:
        sign()
        Runner.objects.all().delete()
        sign()

        assert Runner.objects.alive().exists()


def test_a_runner_without_a_sign_for_a_day_is_deleted_by_the_next() -> None:
    for hours in (23, 25):
        Runner.objects.create(name=f"{hours}", queue="parcel", pid=hours, alive_at=Now() - timedelta(hours=hours))

    with present("parcel"):
        assert Runner.objects.get().name == "23"


def test_a_reason_that_is_too_long_is_stored_as_text_that_people_can_read() -> None:
    with present("parcel", hindrance=lambda: LONG_REASON % {"seconds": "x" * 995}) as sign:
        sign()

        assert translated(Runner.objects.get().hindrance) == f"No answer within {'x' * 983}"


@pytest.mark.django_db(transaction=True)
def test_a_runner_goes_on_while_the_database_is_away() -> None:
    def away(*_: object) -> None:
        raise OperationalError("the connection is closed")

    with connection.execute_wrapper(away), present("parcel") as sign:
        sign()

    assert not Runner.objects.exists()
