"""A good day in each queue, and SQL that passes the guards."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from kilit.api.webhooks import webhook_kinds
from ociqueue.models import Conversion
from ociqueue.script import acknowledge
from orchestrator.models import Job
from pdfjobs.models import PdfJob
from tests.support.cutting_jobs import make_job
from tests.support.fixtures.conversions import make_conversion, make_site
from tests.support.fixtures.pdf_jobs import _own_store
from tests.support.fixtures.pdf_jobs import make_job as make_pdf
from tests.support.outbox import make_endpoint
from tests.system.chaos.good_day import (
    ADDRESS,
    act_in_bulk,
    adjust_at_google,
    correct,
    deliver,
    erase,
    hand_over,
    make_document,
    receive,
    restate,
    send_draft_with_sheet,
    upload,
)
from tests.system.chaos.outside import World

__all__ = ["_own_store", "make_conversion", "make_pdf", "make_site"]


@pytest.fixture
def past_the_guards(sql) -> Callable[..., None]:
    """Run SQL that no trigger sees; the product has no such switch."""

    def run(statement: str) -> None:
        sql("SET LOCAL session_replication_role = replica")
        sql(statement)
        sql("SET LOCAL session_replication_role = DEFAULT")

    return run


@pytest.fixture
def world(make_site, make_conversion, make_pdf, tmp_path: Path) -> World:
    """Return what is left after a good day: something in each queue, all of it ended."""
    make_endpoint(kinds=sorted(webhook_kinds))
    script, api = make_site(), make_site(name="API", sync_method="api")
    sent, failed = make_conversion(script, gclid="a"), make_conversion(script, gclid="b")
    Conversion.objects.for_site(script).claim(limit=2)
    acknowledge.ack(script, [sent.pk])
    acknowledge.ack_failed(script, [failed.pk], code="BAD", category="VALIDATION", message="bad")
    uploaded = upload(api, make_conversion(api, gclid="c"))
    data_manager = make_site(name="Data Manager", sync_method="datamanager")
    taken = receive(data_manager, make_conversion)
    restate(data_manager, taken[0], 5000)
    make_document(make_pdf())
    hand_over(make_job(), tmp_path / "saw")
    act_in_bulk()
    adjusted = adjust_at_google(api, uploaded)
    send_draft_with_sheet()
    correct(script, failed)
    erase(make_site(name="E", sync_method="api", accepts_identifiers=True))
    (tmp_path / "ledger").mkdir()
    lines = [
        {"what": "made", "queue": "pdf", "ids": [str(PdfJob.objects.get().pk)]},
        {"what": "handed", "ids": [f"seal_{sent.pk}", f"seal_{failed.pk}"]},
        {"what": "acked", "ids": [f"seal_{sent.pk}"]},
        {"what": "made", "queue": "conversion", "ids": ["has-address"], "people": {"has-address": ADDRESS}},
    ]
    (tmp_path / "ledger" / "client.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    (tmp_path / "saw.log").write_text(f"The saw took {Job.objects.get(drafts=None).pk}_a1.xml.\n")
    return World(
        tmp_path / "ledger",
        tmp_path / "saw",
        tmp_path / "saw.log",
        sent=Counter([uploaded.order_id]),
        applied={uploaded.order_id},
        counted={uploaded.order_id: adjusted},
        requests={"r-2": [row.order_id for row in taken], "r-3": [taken[0].order_id]},
        confirmed={taken[0].order_id},
        values={taken[0].order_id: [float(taken[0].value), 5000.0], taken[1].order_id: [float(taken[1].value)]},
        accepted=Counter(deliver()),
    )
