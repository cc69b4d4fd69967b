"""What every queue with attempts must show: they end, they can be granted again, and a swept worker has none.

A queue joins by one line: `class TestAttempts(AttemptsConformance): queue = RetriedQueue(…)`.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction

from kilit.lock.models import Event
from kilit.lock.table import Kind
from tests.support.waiting import PATIENCE

ROWS = 20  # in a race


@dataclass(frozen=True)
class RetriedQueue:
    """How rows of a queue are made, and what workers, the sweep and operators do to them."""

    make: Callable[[], Any]
    most_attempts: int
    make_due: Callable[[], object]
    claim: Callable[[], list[Any]]  # all that is due
    finish: Callable[[Any], object]  # by the worker that claimed it
    fail: Callable[[Any], object]  # the attempt, by the worker that claimed it
    lapse: Callable[[], object]  # lets every claim run out
    sweep: Callable[[], object]
    retry: Callable[[Any], object]  # by an operator


@pytest.mark.django_db
class AttemptsConformance:
    queue: RetriedQueue

    def test_failed_attempts_end(self) -> None:
        row = self.queue.make()

        claims = self.claim_until_none_is_due(self.queue.fail)

        self.assert_used_up(row, attempts=self.queue.most_attempts)
        assert claims == self.queue.most_attempts

    def test_lost_workers_end(self) -> None:
        row = self.queue.make()

        claims = self.claim_until_none_is_due(lambda _row: self.lose_workers())

        self.assert_used_up(row, attempts=self.queue.most_attempts)
        assert claims == self.queue.most_attempts

    def test_an_operators_retry_grants_all_attempts_again_and_the_count_goes_on(self) -> None:
        row = self.queue.make()
        self.claim_until_none_is_due(self.queue.fail)

        self.queue.retry(row)

        assert self.claim_until_none_is_due(self.queue.fail) == self.queue.most_attempts
        self.assert_used_up(row, attempts=2 * self.queue.most_attempts)

    def test_a_worker_that_was_swept_settles_nothing(self) -> None:
        row = self.queue.make()
        (swept,) = self.queue.claim()
        self.lose_workers()
        self.queue.make_due()
        assert len(self.queue.claim()) == 1

        self.queue.finish(swept)
        self.queue.fail(swept)

        row.refresh_from_db()
        assert self.kind_of(row) == Kind.HELD

    def test_only_a_claim_changes_the_count(self) -> None:
        row = self.queue.make()

        for change in ("+ 1", "- 1"):
            with pytest.raises(IntegrityError, match="cannot change its attempt_count"), transaction.atomic():
                self.write(row, f"attempt_count = attempt_count {change}")

    @pytest.mark.django_db(transaction=True)
    def test_a_row_that_a_sweep_took_during_its_settling_is_held_by_the_next_claim(
        self, in_threads: Callable[..., list[Any]]
    ) -> None:
        rows = [self.queue.make() for _ in range(ROWS)]
        claimed, start = self.queue.claim(), threading.Barrier(2)
        self.queue.lapse()

        def settle_or_sweep(number: int) -> None:
            start.wait(timeout=PATIENCE)
            if number:
                self.queue.sweep()
                self.queue.make_due()
                self.queue.claim()
                return
            for row in claimed:
                self.queue.finish(row)

        in_threads(settle_or_sweep, count=2)

        for row in rows:
            row.refresh_from_db()
        ends = {(self.kind_of(row), row.attempt_count) for row in rows}
        assert ends <= {(Kind.DONE, 1), (Kind.HELD, 2)}

    def claim_until_none_is_due(self, settle: Callable[[Any], object]) -> int:
        """Settle all claims alike; return how many there were."""
        claims = 0
        while claimed := self.queue.claim():
            claims += len(claimed)
            for row in claimed:
                settle(row)
            self.queue.make_due()
        return claims

    def lose_workers(self) -> None:
        self.queue.lapse()
        self.queue.sweep()

    def assert_used_up(self, row: Any, *, attempts: int) -> None:
        row.refresh_from_db()
        assert (self.kind_of(row), row.attempt_count) == (Kind.FAILED, attempts)
        assert Event.objects.of(row).filter(details__verb="claim").count() == attempts

    @staticmethod
    def kind_of(row: Any) -> Kind:
        return row.lifecycle.kinds[row.status]

    @staticmethod
    def write(row: Any, change: str) -> None:
        with connection.cursor() as cursor:
            cursor.execute(f'UPDATE "{row._meta.db_table}" SET {change} WHERE id = %s', [row.pk])
