"""Workers killed in the middle of a bulk action."""

from contextlib import ExitStack, closing
from uuid import UUID

import pytest
from django.db import connection

from kilit.batches import run
from kilit.batches.models import BulkAction
from ociqueue.operating.operations import RETRY
from tests.support.bulk_actions import PAGES, asked, states
from tests.support.bulk_results import agrees
from tests.support.waiting import wait_until
from tests.support.workers import Workers


class InTheWay:
    """Holds a row's lock on a connection of its own, so that a worker stops there."""

    def __init__(self, row: UUID) -> None:
        self.connection = connection.copy()
        self.connection.set_autocommit(False)
        with self.connection.cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid() FROM offline_conversion_queue WHERE id = %s FOR UPDATE", [row])
            ((self.pid,),) = cursor.fetchall()

    def has_stopped_one(self) -> bool:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1 FROM pg_stat_activity WHERE %s = ANY(pg_blocking_pids(pid))", [self.pid])
            return bool(cursor.fetchall())

    def close(self) -> None:
        self.connection.close()


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("audited")
@pytest.mark.parametrize("kills", [[1], pytest.param([2, 5], marks=pytest.mark.nightly)], ids=["once", "twice"])
def test_killed_workers_neither_repeat_nor_skip(
    make_person, site, make_failed, workers: Workers, monkeypatch, *, kills: list[int]
) -> None:
    """SIGKILL of a real worker in the middle of a bulk action; the next goes on after the last whole batch."""
    monkeypatch.setattr(run, "MOST_LOOKED_AT", 100)  # of the page, so that a worker writes them down too
    total = (kills[-1] + 1) * RETRY.batch
    make_failed(site, total)
    operator = make_person(sites={site: "operator"})
    action = asked(operator)
    wait_until(lambda: BulkAction.objects.filter(status="READY").exists())
    rows = list(action.items.order_by("object_id").values_list("object_id", flat=True))
    whole_batches = [batches * RETRY.batch for batches in kills]
    killed_at = []
    with ExitStack() as held:
        stops = [held.enter_context(closing(InTheWay(rows[done + RETRY.batch // 2]))) for done in whole_batches]
        operator.post(f"{PAGES}{action.pk}/start/", {"count": f"{total:,}"})
        for stop in stops:
            wait_until(stop.has_stopped_one)
            workers.kill(*workers.titled("processing"))
            action.refresh_from_db()
            killed_at.append(action.done_count)
            stop.close()
            # Or it lapses by itself later. This waits until the server has noticed that nobody is there any more.
            BulkAction.objects.filter(status="RUNNING").update(lease_until="2020-01-01T00:00Z")

    wait_until(lambda: BulkAction.objects.filter(status="DONE").exists())

    action.refresh_from_db()
    assert killed_at == whole_batches, "it was killed on its way"
    assert (action.total, action.done_count, action.moved_count, action.skipped) == (total, total, total, [])
    assert states() == {"QUEUED": total}
    agrees(operator, action)
