"""Problems that belong to no queue, and the kinds that there are."""

import shutil
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from django.contrib.auth.models import AnonymousUser
from django.db import connection
from django.db.models import F
from django.db.models.functions import Now
from django.test.utils import CaptureQueriesContext

from config.checks import check_proxy
from kilit.backup.programs import Program
from kilit.batches.queues import Queue, queues
from kilit.problems import database, disk, exposure, registry, tracking
from kilit.problems import queues as queue_problems
from kilit.problems.kinds import ProblemKind
from kilit.problems.models import CLOSE_AFTER, ProblemRecord
from kilit.problems.queues import STUCK_AFTER
from kilit.problems.registry import ProblemSource, SeesEverything, find_problems
from kilit.problems.tracking import track_problems
from kilit.sites.models import Tenant
from ociqueue.problems.sites import PAUSED
from outbox.models import Endpoint, OutboxMessage
from outbox.models.endpoint import OffReason
from outbox.states import MESSAGES
from tests.support.dashboard import make_conversions, make_site
from tests.support.outbox import make_endpoint, make_message

pytestmark = pytest.mark.django_db

GB = 1_000_000_000


class Usage(NamedTuple):
    total: float
    used: float
    free: float


@pytest.fixture
def disks(settings, monkeypatch) -> dict[str, Any]:
    """One disk of 1,000 GB; the test says how much of it is free."""
    settings.DISK_LOW_GB = 5
    size = {"total": 1000 * GB, "used": 0, "free": 900 * GB}
    monkeypatch.setattr(shutil, "disk_usage", lambda _folder: Usage(**size))
    return size


def test_a_disk_that_is_almost_full_is_a_problem(disks, settings) -> None:
    assert list(disk.find(SeesEverything())) == []
    disks["free"] = 4.9 * GB

    (problem,) = disk.find(SeesEverything())

    assert problem.title == "A disk is almost full: 4.9 GB free"
    assert str(settings.KILIT_VAR) in problem.cause


def test_a_small_disk_that_is_not_full_is_no_problem(disks, settings) -> None:
    disks |= {"total": 8 * GB, "free": 4 * GB}
    assert list(disk.find(SeesEverything())) == []

    disks |= {"total": 1000 * GB}
    settings.DISK_LOW_GB = 0
    assert list(disk.find(SeesEverything())) == []


def test_a_web_server_without_a_proxy_is_a_problem_unless_it_is_on_loopback(settings) -> None:
    assert list(exposure.find(SeesEverything())) == []

    settings.IS_EXPOSED = True

    (problem,) = exposure.find(SeesEverything())
    assert problem.title == "The web server is reached without a proxy"
    assert [message.id for message in check_proxy()] == ["kilit.W011"]


@pytest.mark.parametrize(("installed", "is_behind"), [(["19.9", "17.99"], False), (["17.99", "99.1", "{}.99"], True)])
def test_a_server_behind_the_programs_of_its_version_is_a_notice(installed, is_behind, monkeypatch) -> None:
    major, minor = divmod(connection.pg_version, 10_000)
    found = [Program(Path("pg_dump"), version.format(major)) for version in installed]
    monkeypatch.setattr(database, "installed_programs", lambda *_, **__: found)
    monkeypatch.setattr(database, "newest_minor", database.newest_minor.__wrapped__)

    problems = list(database.find(SeesEverything()))

    titles = [f"PostgreSQL {major}.{minor} lacks the fixes of {major}.99"] if is_behind else []
    assert [problem.title for problem in problems] == titles


def test_the_embedded_server_runs_the_newest_programs_here() -> None:
    assert list(database.find(SeesEverything())) == []


def test_a_queue_of_which_many_jobs_fail_is_a_problem() -> None:
    site = make_site()
    make_conversions(site, well=Queue.fewest_ended - 20, badly=20)

    (problem,) = [each for each in find_problems(SeesEverything()) if each.kind == "failure-rate"]

    assert (problem.part, problem.title) == ("conversion", "Offline conversions: 40% failed in 24 hours")
    assert problem.cause == "20 of 50 jobs that ended"


@pytest.mark.parametrize(("well", "badly"), [(4, Queue.fewest_ended - 5), (Queue.fewest_ended, 5)])
def test_few_jobs_or_few_failures_are_no_rate(well: int, badly: int) -> None:
    make_conversions(make_site(), well=well, badly=badly)

    assert [each for each in find_problems(SeesEverything()) if each.kind == "failure-rate"] == []


def test_sites_that_are_folded_into_one_line_keep_their_records(monkeypatch) -> None:
    monkeypatch.setattr(tracking, "readers", [])
    monkeypatch.setattr(registry, "sources", [replace(PAUSED, most=3).source()])
    sites = [make_site(f"Site {number}") for number in range(5)]
    for site in sites[:3]:
        Tenant.objects.filter(pk=site.pk).pause(reason="Audit")
    tracking.track_problems()
    Tenant.objects.all().pause(reason="Audit")
    ProblemRecord.objects.update(seen_at=F("seen_at") - CLOSE_AFTER - timedelta(minutes=1))

    tracking.track_problems()

    paused = ProblemRecord.objects.open().filter(kind="paused")
    assert {*paused.values_list("count", flat=True)} == {1, 5}
    assert paused.count() == 4


def test_sites_are_read_only_if_something_is_wrong_with_one() -> None:
    """The sweep asks each minute, and mostly nothing is wrong."""
    make_site("Ege")

    def reads() -> int:
        with CaptureQueriesContext(connection) as asked:
            find_problems(SeesEverything())
        return len([query for query in asked if query["sql"].startswith('SELECT "sites_tenant"."id"')])

    assert reads() == 0
    Tenant.objects.all().pause(reason="Audit")
    assert reads() == 1


def test_one_statement_asks_whether_anything_is_wrong_with_jobs(django_assert_num_queries) -> None:
    find_problems(SeesEverything())  # the first compiles it

    with django_assert_num_queries(1 + 3):  # workers, scheduled tasks and open transactions are read each time
        find_problems(SeesEverything())


def test_the_kinds_of_problems_are_those_that_rules_offer() -> None:
    """A kind that the table does not have could be chosen in no rule."""
    make_site("Ege", is_paused=True, pause_reason="Audit")

    assert {problem.kind for problem in find_problems(SeesEverything())} <= set(ProblemKind)


def test_an_endpoint_that_was_switched_off_is_recorded_in_each_language() -> None:
    make_endpoint(description="Shop")
    Endpoint.objects.all().switch_off(OffReason.GONE)

    track_problems()

    record = ProblemRecord.objects.get(kind=ProblemKind.ENDPOINT_OFF)
    assert record.text("cause", "en") == "the receiver answered 410 Gone"
    assert record.text("cause", "tr") == "alıcı 410 Gone yanıtını verdi"


def test_a_queue_that_declares_no_problems_has_failures_and_stuck_rows(monkeypatch) -> None:
    sources: list[ProblemSource] = []
    monkeypatch.setattr(registry, "sources", sources)
    monkeypatch.setattr(queue_problems, "queues_with_problems", set(queues) - {MESSAGES.queue})
    monkeypatch.setitem(queue_problems.group_steps, MESSAGES.queue, {})
    make_message()
    make_message()
    stuck, failed = OutboxMessage.objects.claim(limit=2)
    OutboxMessage.objects.held_by(failed).settle("fail", error_code="TIMED_OUT", error_message="No answer.")
    OutboxMessage.objects.filter(pk=stuck.pk).update(lease_until=Now() - STUCK_AFTER - timedelta(seconds=1))
    queue_problems.register_other_queues()

    problems = find_problems(SeesEverything())

    lines = {problem.kind: (problem.title, problem.cause) for problem in problems}
    assert lines == {
        ProblemKind.FAILURES: ("Webhooks and alerts: 1 failed", "No answer in time"),
        ProblemKind.STUCK: (
            "Webhooks and alerts: 1 stuck",
            "their worker's lease lapsed; a scheduled task takes them back",
        ),
    }
    assert all(problem.link for problem in problems)
    assert find_problems(AnonymousUser()) == []
