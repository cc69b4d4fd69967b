"""Every alert names metrics that are there, is silent when all is well, and fires on the state it is for."""

import shutil
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import promql_parser as promql
import pytest
import yaml
from django.db import connection, transaction
from django.db.models.functions import Now
from django.test import Client
from django.utils import timezone

from kilit.lock.identity import uuid7
from kilit.lock.management.commands.lifecycle_docs import lifecycle_models
from kilit.lock.models import Event
from kilit.problems import horizon
from kilit.problems.horizon import Holder, HolderKind
from kilit.web.models import WebProcess
from kilit.workers import sweeps
from kilit.workers.models import Heartbeat, Runner, SweepRun
from ociqueue.models import Receipt, Site
from ociqueue.states import SyncMethod
from orchestrator.errors import Code
from outbox.models import Endpoint, LogPosition, OutboxMessage
from outbox.models.endpoint import OffReason
from tests.support import promtool
from tests.support.commands import ROOT
from tests.support.cutting_jobs import job_waits, minutes_ago, orders
from tests.support.metrics import EXPORTED, serve
from tests.support.outbox import make_endpoint, make_message
from tests.support.promql import Scrape, evaluate, selectors
from tests.support.uploads import received

pytestmark = [pytest.mark.django_db, pytest.mark.slow]  # it scrapes all metrics before and after each fault

(GROUP,) = yaml.safe_load((ROOT / "deploy" / "alerts.yml").read_text())["groups"]
ALERTS = {rule["alert"]: rule for rule in GROUP["rules"]}
TABLES = {model.lifecycle.queue: model.lifecycle for model in lifecycle_models()}


def scrape(**options: int) -> Scrape:
    return Scrape(Client().get("/metrics").content.decode(), **options)


def firing(before: Scrape, now: Scrape) -> set[str]:
    return {name for name, rule in ALERTS.items() if evaluate(promql.parse(rule["expr"]), now, before)}


def count(queue: str, **states: tuple[int, int]) -> None:
    """Say how many rows a queue has in a state, and how many ever came into it, as the recorder does."""
    for state, (total, entered) in states.items():
        scope = "UNKNOWN" if (queue, state) == ("pdf", "failed") else ""  # PDF failures are counted by code
        with connection.cursor() as cursor:
            cursor.execute("DELETE FROM lock_count WHERE queue = %s AND state = %s", [queue, state])
            cursor.execute(
                "INSERT INTO lock_count (queue, scope, state, total, entered, changed_at)"
                " VALUES (%s, %s, %s, %s, %s, now())",
                [queue, scope, state, total, entered],
            )


@pytest.fixture
def well(monkeypatch) -> Scrape:
    """A normal day: work done and in progress, all processes alive; scraped a while ago."""
    left_open.clear()
    monkeypatch.setattr(horizon, "holders", lambda: left_open)
    Heartbeat.objects.create(name="here:1", beat_at=Now(), alive_at=Now())
    Heartbeat.objects.create(name="killed:2", beat_at=Now() - timedelta(hours=5))
    Runner.objects.create(name="cutter:3", queue="cutting_job", pid=3)
    Runner.objects.create(name="killed:4", queue="cutting_job", pid=4, alive_at=Now() - timedelta(hours=5))
    for sweep in sweeps.sweeps.values():
        SweepRun.objects.create(name=sweep.name, finished_at=Now() - sweep.every - timedelta(minutes=1), succeeded=True)
    count("conversion", QUEUED=(5, 900), PROCESSING=(2, 890), COMPLETED=(700, 700), FAILED=(20, 20))
    count("circuit", CLOSED=(3, 5), OPEN=(0, 2))
    count("pdf", queued=(2, 500), running=(2, 498), succeeded=(400, 400), failed=(10, 10))
    count("message", QUEUED=(1, 300), RETRY=(1, 20), DELIVERED=(290, 290), FAILED=(2, 2))
    make_endpoint()
    WebProcess.objects.create(name="web:1", threads=4, busy=1.5)
    serve(1000, errors=5, slow=20, refused=30)
    count("cutting_job", NEW=(1, 60), PREPARED=(1, 59), DONE=(40, 40), HOLD=(0, 3), FAILED=(1, 1))
    return scrape()


def work_on() -> None:
    """Let an hour of ordinary work pass."""
    count("conversion", PROCESSING=(2, 990), COMPLETED=(790, 790), FAILED=(30, 30))
    count("pdf", running=(2, 598), succeeded=(490, 490), failed=(15, 15))
    count("cutting_job", PREPARED=(1, 70), DONE=(50, 50))
    count("message", DELIVERED=(350, 350), FAILED=(5, 5))
    serve(1000, errors=9, slow=40, refused=100)


def test_all_is_silent_before_the_first_job() -> None:
    Heartbeat.objects.create(name="here:1", beat_at=Now(), alive_at=Now())

    assert firing(scrape(), scrape()) == set()


left_open: list[Holder] = []


def transaction_is_open(**span: int) -> None:
    since = timezone.now() - timedelta(**span)
    left_open.append(Holder(HolderKind.IDLE, "4711", "psql", "ayse", since, later=7))


def everybody_is_silent() -> None:
    Heartbeat.objects.update(beat_at=Now() - timedelta(minutes=5))


def sweep_is(**columns: Any) -> Callable[[], None]:
    return lambda: SweepRun.objects.filter(name="pdf_cleanup").update(**columns) and None


def message_is_due_since(**span: int) -> None:
    make_message()
    OutboxMessage.objects.update(next_try_at=Now() - timedelta(**span))


def event_is_unread_since(**span: int) -> None:
    make_message()
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")  # nobody may insert an event of the past
        Event.objects.create(queue="parcel", object_id=uuid7(), event_type="X", created_at=Now() - timedelta(**span))
        cursor.execute("SET LOCAL session_replication_role = DEFAULT")
    newest = Event.objects.latest("pk").pk
    LogPosition.objects.update(event_id=newest - 1, horizon=newest)


def verdict_is_open_since(**span: int) -> None:
    site = Site.objects.create(name="Marmara", sync_method=SyncMethod.DATA_MANAGER)
    received(site)
    Receipt.objects.update(received_at=Now() - timedelta(**span))


BAD: dict[str, dict[str, Callable[[], Any]]] = {
    "KilitWebErrors": {"a tenth": lambda: serve(1000, errors=200)},
    "KilitWebSlow": {"a fifth": lambda: serve(1000, slow=400)},
    "KilitWebThreadsBusy": {"all": lambda: WebProcess.objects.update(busy=3.9)},
    "KilitWebRefuses": {"many": lambda: serve(20_000, refused=10_000)},
    "KilitNoWorkers": {"silent": everybody_is_silent, "never started": lambda: Heartbeat.objects.all().delete()},
    "KilitRunnersSilent": {"all": lambda: Runner.objects.update(alive_at=Now() - timedelta(minutes=5))},
    "KilitSweepFails": {"failed": sweep_is(succeeded=False)},
    "KilitSweepOverdue": {
        "a rare one": sweep_is(finished_at=Now() - timedelta(hours=30)),
        "a frequent one": lambda: SweepRun.objects.filter(name="pdf_reap").update(
            finished_at=Now() - timedelta(hours=2)
        ),
    },
    "KilitConversionsFail": {
        "a third": lambda: count("conversion", COMPLETED=(740, 740), FAILED=(40, 40)),
        "a third beside expected ones": lambda: count(
            "conversion", COMPLETED=(740, 740), FAILED=(140, 140), EXPECTED_FAILURE=(0, 100)
        ),
    },
    "KilitTransactionOpen": {"two hours": lambda: transaction_is_open(hours=2)},
    "KilitConversionsWait": {"no claim": lambda: count("conversion", PROCESSING=(0, 890))},
    "KilitCircuitOpen": {"one": lambda: count("circuit", CLOSED=(2, 5), OPEN=(1, 3))},
    "KilitVerdictOverdue": {"one": lambda: verdict_is_open_since(hours=25)},
    "KilitPdfFails": {"a third": lambda: count("pdf", succeeded=(440, 440), failed=(30, 30))},
    "KilitPdfQueueLong": {"nearly full": lambda: count("pdf", queued=(900, 1500))},
    "KilitPdfStandsStill": {"none begun": lambda: count("pdf", running=(0, 498))},
    "KilitMessagesFail": {"many": lambda: count("message", FAILED=(2, 30))},
    "KilitMessagesWait": {"one": lambda: message_is_due_since(hours=1)},
    "KilitEventsUnread": {"one": lambda: event_is_unread_since(hours=1)},
    "KilitEndpointFailing": {"one": lambda: Endpoint.objects.update(failing_since=Now())},
    "KilitEndpointOff": {
        "gone": lambda: Endpoint.objects.switch_off(OffReason.GONE),
        "failing": lambda: Endpoint.objects.switch_off(OffReason.FAILING),
    },
    "KilitCuttingOnHold": {"six": lambda: count("cutting_job", HOLD=(6, 9))},
    "KilitCuttingHeldShare": {"two of twenty": lambda: orders(18, held=2)},
    "KilitCuttingFails": {
        "one of twenty": lambda: count("cutting_job", DONE=(58, 58), FAILED=(3, 3)),
        "beside cancelled ones": lambda: count("cutting_job", DONE=(58, 58), FAILED=(13, 13), EXPECTED_FAILURE=(0, 10)),
    },
    "KilitOptiPlanningOverdue": {"21 minutes": lambda: job_waits("OPTI_RUNNING", opti_started_at=minutes_ago(21))},
    "KilitSawOverdue": {"6 minutes": lambda: job_waits("XML_READY", handed_at=minutes_ago(6))},
    "KilitCuttingStandsStill": {"no runner": lambda: count("cutting_job", PREPARED=(1, 59), DONE=(40, 40))},
}


@pytest.mark.parametrize(("alert", "how"), [(alert, how) for alert, ways in BAD.items() for how in ways])
@pytest.mark.by_day(12)
def test_an_alert_fires_on_the_state_it_is_for_and_alone(alert: str, how: str, well: Scrape) -> None:
    work_on()

    BAD[alert][how]()

    assert firing(well, scrape()) == {alert}


FINE: dict[str, Callable[[], None]] = {
    "an hour of ordinary work": lambda: None,
    "a few failures, though nothing else ended": lambda: ended(completed=0, failed=5),
    "many failures among very many": lambda: ended(completed=500, failed=40),
    "nearly a fifth": lambda: ended(completed=82, failed=18),
    "many failures, most of them expected": lambda: count(
        "conversion", COMPLETED=(772, 772), FAILED=(48, 48), EXPECTED_FAILURE=(0, 20)
    ),
    "cutting jobs that were cancelled": lambda: count(
        "cutting_job", DONE=(58, 58), FAILED=(21, 21), EXPECTED_FAILURE=(0, 20)
    ),
    "few errors, though nothing else was asked for": lambda: serve(5, errors=5),
    "probes that are not ready": lambda: serve(1000, errors=1000, kind="health"),
    "few cutting jobs, one of which failed": lambda: count("cutting_job", DONE=(50, 50), FAILED=(2, 2)),
    "five orders on HOLD": lambda: count("cutting_job", HOLD=(5, 8)),
    "orders that wait for their operator": lambda: orders(16, held=4, code=Code.OPERATOR_TRIGGER_REQUIRED),
    "few orders, one of them on HOLD": lambda: orders(5, held=1),
    "OptiPlanning that has worked for a while": lambda: job_waits("OPTI_RUNNING", opti_started_at=minutes_ago(19)),
    "a saw that was asked a while ago": lambda: job_waits("XML_READY", handed_at=minutes_ago(4)),
    "an endpoint that an operator switched off": lambda: Endpoint.objects.switch_off(OffReason.OPERATOR) and None,
    "a message that waits for its next attempt": lambda: message_is_due_since(hours=-1),
    "a message to an endpoint that asked to wait": lambda: (
        message_is_due_since(hours=1) or (Endpoint.objects.update(wait_until=Now() + timedelta(hours=1)) and None)
    ),
}


def ended(*, completed: int, failed: int) -> None:
    """Say how many of an hour's conversions and PDFs ended how."""
    count("conversion", COMPLETED=(700, 700 + completed), FAILED=(20, 20 + failed))
    count("pdf", succeeded=(400, 400 + completed), failed=(10, 10 + failed))


@pytest.mark.parametrize("how", FINE)
@pytest.mark.by_day(6)
def test_no_alert_fires_on(how: str, well: Scrape) -> None:
    work_on()

    FINE[how]()

    assert firing(well, scrape()) == set()


def test_a_web_service_that_does_not_respond_fires_an_alert(well: Scrape) -> None:
    work_on()

    assert firing(well, scrape(up=0)) == {"KilitDown"}


@pytest.mark.skipif(
    not shutil.which("promtool"),
    reason="needs promtool, which is part of Prometheus; the tests above evaluate the same rules in Python",
)
def test_prometheus_itself_says_the_same_of_every_state(well: Scrape, tmp_path: Path) -> None:
    """With `for` and the extrapolation of `increase`, which our evaluator leaves out."""
    work_on()
    tests = [promtool.rule_test("all is well", well, scrape(), set())]
    tests += [promtool.rule_test("down", well, scrape(up=0), {"KilitDown"})]
    for alert, ways in BAD.items():
        for how, spoil in ways.items():
            with transaction.atomic():
                spoil()
                tests.append(promtool.rule_test(f"{alert}: {how}", well, scrape(), {alert}))
                transaction.set_rollback(True)

    checked, ran = promtool.check_rules(), promtool.run_tests(tests, tmp_path)

    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_every_alert_has_a_state_that_it_fires_on() -> None:
    assert set(ALERTS) == {"KilitDown", *BAD}


@pytest.mark.parametrize("alert", ALERTS)
def test_an_alert_names_what_the_product_exports(alert: str, well: Scrape) -> None:
    exported = {name: dict(labels) for name, labels, _ in well.samples}

    for selector in selectors(promql.parse(ALERTS[alert]["expr"])):
        assert selector.name in exported
        named = {each.name: each.value.split("|") for each in selector.matchers.matchers}
        assert named.keys() <= EXPORTED[selector.name] == exported[selector.name].keys()
        table = TABLES.get(named.get("queue", ["pdf"])[0])
        assert table
        assert set(named.get("state", [])) | set(named.get("status", [])) <= set(table.states)
        assert set(named.get("sweep", [])) <= sweeps.sweeps.keys()
    assert ALERTS[alert]["labels"]["severity"] in {"page", "ticket"}
    assert ALERTS[alert]["for"]
    assert ALERTS[alert]["annotations"]["summary"]


def test_every_sweep_would_be_noticed() -> None:
    """Whatever sweep stops for more than a day, an alert says so; one that runs at its time is not accused."""
    Heartbeat.objects.create(name="here:1", beat_at=Now(), alive_at=Now())
    for sweep in sweeps.sweeps.values():
        SweepRun.objects.create(name=sweep.name, finished_at=Now() - timedelta(hours=30), succeeded=True)

    overdue = evaluate(promql.parse(ALERTS["KilitSweepOverdue"]["expr"]), scrape(), scrape())

    assert {dict(labels)["sweep"] for labels in overdue} == sweeps.sweeps.keys()
