"""What a person ended on purpose is no problem and in no error rate, in every queue."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User

from kilit.batches.queues import queues
from kilit.lock.models import Count, ErrorGroup
from kilit.lock.table import Kind
from kilit.problems.failures import causes_of
from kilit.problems.registry import SeesEverything, find_problems
from tests.support.adjusted import api_site, make_sold, restate
from tests.support.conversions import new_conversion
from tests.support.cutting_jobs import make_job
from tests.support.dashboard import make_site
from tests.support.outbox import make_message

pytestmark = pytest.mark.django_db


def make_conversion() -> Any:
    row = new_conversion(make_site())
    row.save()
    return row


MAKERS: dict[str, Callable[[], Any]] = {
    "conversion": make_conversion,
    "adjustment": lambda: restate(make_sold(api_site())),
    "cutting_job": make_job,
    "message": make_message,
}
# Each operation by which a person fails a job.
ENDINGS = [
    (name, operation)
    for name, queue in queues.items()
    for operation in queue.operations
    if queue.table.kinds[queue.table.moves[operation.verb].target] == Kind.FAILED
]


@pytest.mark.parametrize(("name", "operation"), ENDINGS, ids=lambda value: getattr(value, "name", value))
def test_what_a_person_ended_is_no_problem_and_in_no_error_rate(name, operation, admin_user: User) -> None:
    queue, row = queues[name], MAKERS[name]()

    result = operation.apply(admin_user, [row.pk], {})

    assert result.moved == {row.pk}
    assert [group.total for group in ErrorGroup.objects.largest(queue=name)] == [1], "it is listed all the same"
    assert causes_of(queue) == []
    assert [problem for problem in find_problems(SeesEverything()) if problem.part == name] == []
    failed = queue.table.of_kind(Kind.FAILED)
    hours = Count.objects.last_day(queue=name, well=[], badly=failed)
    assert sum(hour.badly for hour in hours) == sum(hour.expected for hour in hours) == 1


def test_every_queue_but_the_pdfs_has_such_an_operation() -> None:
    assert {name for name, _operation in ENDINGS} == MAKERS.keys()
