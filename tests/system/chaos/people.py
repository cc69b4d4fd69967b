"""Operators who act on rows one by one and in bulk, and a sweeper who runs every sweep far more often than a clock."""

import logging
import os
import random
import sys
import time
import traceback
from pathlib import Path
from typing import Any

import django
from django.apps import apps

if not apps.ready:
    django.setup()

import json

from django.contrib.auth.models import User
from django.db import DatabaseError, connection

from config.papers.content import PaperRefused
from kilit.batches import run as bulk_run
from kilit.batches.models import BulkAction
from kilit.lock.audit import acting_as
from kilit.lock.guard import MoveRefused
from kilit.workers import doorbells
from kilit.workers.processes import die_with_parent
from kilit.workers.sweeps import run, sweeps
from ociqueue.intake.adjustments import adjust
from ociqueue.models import Adjustment, Conversion, Site
from ociqueue.script import acknowledge
from orchestrator.errors import JobError
from orchestrator.workflow.stock import StockRefused
from pdfjobs.models import PdfJob
from tests.system.chaos import office
from tests.system.chaos.clients import Client
from tests.system.chaos.ledger import Ledger

logger = logging.getLogger(__name__)

BULK = [
    ("conversion", "retry", "FAILED"),
    ("conversion", "retry", "FAILED"),
    ("conversion", "mark_failed", "QUEUED"),
    ("pdf", "retry", "failed"),
    ("pdf", "expire", "failed"),
]
# Refusals that an operator may get: a job that is not printable, a row that has moved on, boards that jobs have.
EXPECTED = (PaperRefused, MoveRefused, JobError, StockRefused)
# What talks to others is rung, not run here.
CHORES = sorted(set(sweeps) - {"oci_upload", "oci_verdicts"})


def act_on_conversions(rng: random.Random, _: Any) -> None:
    """Retry, reset or fail a few rows of a site, whatever they are."""
    site = rng.choice(list(Site.objects.all()))
    rows = [row.pk for row in Conversion.objects.for_site(site).order_by("?")[: rng.randint(1, 8)]]
    verb: Any = rng.choice([lambda q: q.retry_selected(), lambda q: q.reset_to_queued(), lambda q: q.mark_failed()])
    acknowledge.move_rows(site, rows, acknowledge.by_verb(site, verb))


def adjust_some(rng: random.Random, _: Any) -> None:
    """Give conversions other values, which no conversion has, and retract a few."""
    site = rng.choice(list(Site.objects.exclude(sync_method="script")))
    rows = Conversion.objects.for_site(site).order_by("?")[: rng.randint(1, 8)]
    restated = {"kind": "RESTATEMENT", "value": rng.randint(1000, 9000)}
    adjust(site, [{"id": str(row), **(restated if rng.random() < 0.8 else {"kind": "RETRACTION"})} for row in rows])


def act_on_adjustments(rng: random.Random, _: Any) -> None:
    """Retry, reset or fail a few, whatever they are."""
    rows = list(Adjustment.objects.order_by("?").values_list("pk", flat=True)[: rng.randint(1, 3)])
    verb = rng.choice(["retry_selected", "reset_to_queued", "mark_failed"])
    getattr(Adjustment.objects.filter(pk__in=rows), verb)()


def act_on_pdfs(rng: random.Random, _: Any) -> None:
    """Queue failed documents again."""
    failed = PdfJob.objects.filter(status="failed").order_by("?").values_list("pk", flat=True)[: rng.randint(1, 3)]
    PdfJob.objects.filter(pk__in=list(failed)).retry_selected()


def act_on_orders(rng: random.Random, service: Client) -> None:
    """Decide about orders over HTTP: retry, approve, and now and then cancel."""
    verb = rng.choice(["retry", "retry", "approve", "cancel"])
    state = {"retry": "FAILED", "approve": "HOLD", "cancel": ""}[verb]
    status, reply = service.ask("GET", f"/jobs?limit=20{f'&state={state}' if state else ''}")
    if status == 200 and reply["jobs"]:
        service.ask("POST", f"/jobs/{rng.choice(reply['jobs'])['id']}/{verb}", {"reason": "chaos"})


def act_in_bulk(rng: random.Random, _: Any) -> None:
    """Ask for everything that matches a filter; some plans are started, some cancelled, some left."""
    queue, action, state = rng.choice(BULK)
    user = User.objects.get(username="demo-admin")
    asked = {"queue": queue, "action": action, "user": user, "filters": {"status": state}, "filters_text": state}
    make = rng.choice([bulk_run.plan, bulk_run.plan_now])
    planned = make(**asked, reason="chaos", options={})
    time.sleep(rng.uniform(0, 1))
    if rng.random() < 0.2:
        BulkAction.objects.filter(pk=planned.pk).cancel()
    # Whatever was found by now, also by plans of earlier turns.
    for ready in BulkAction.objects.filter(status="READY", eligible__gt=0):
        BulkAction.objects.filter(pk=ready.pk).start(count=ready.eligible)
    doorbells.ring(bulk_run.ENGINE.bell)


def sweep(rng: random.Random, _: Any) -> None:
    """Run a sweep beside the workers' own."""
    run(rng.choice(CHORES))


ROLES = {
    "operator": [
        *(act_on_conversions, act_on_conversions, adjust_some, adjust_some, act_on_adjustments),
        *(act_on_pdfs, act_on_orders, act_in_bulk),
        *(office.correct_some, office.forget_someone, office.send_a_draft, office.print_a_paper, office.ask_at_the_saw),
        *(office.decide_who_cuts, office.cut_some, office.cut_some, office.keep_the_store),
    ],
    "sweeper": [sweep],
}


def main(role: str) -> None:
    """Take turns until killed; a database that is away is no reason to stop."""
    die_with_parent()
    folder = Path(os.environ["CHAOS_FOLDER"])
    world = json.loads((folder / "world.json").read_text())
    rng = random.Random(f"{world['seed']} {role} {os.getpid()}")
    service = Client(world, world["service_key"], Ledger(folder / "ledger", role))
    deck: list[Any] = []
    while True:
        # All of them by turns: on a slow machine there are few turns.
        deck = deck or rng.sample(ROLES[role], len(ROLES[role]))
        try:
            with acting_as(f"{role}:chaos"):
                deck.pop()(rng, service)
        except DatabaseError:
            connection.close()
        except EXPECTED as refusal:
            logger.info("%s was refused: %s", role, refusal)
        except Exception as error:
            logger.exception("%s stumbled", role)
            service.ledger.note("mistaken", path=role, status=0, reply=repr(error)[:200], where=traceback.format_exc())
            connection.close()
        time.sleep(rng.uniform(0.1, 0.6))


if __name__ == "__main__":
    main(sys.argv[1])
