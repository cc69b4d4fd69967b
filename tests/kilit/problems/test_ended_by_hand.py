"""What a person ended on purpose is no problem and in no error rate, in every queue."""

import pytest
from django.contrib.auth.models import User

from kilit.batches.queues import queues
from kilit.lock.models import Count, ErrorGroup
from kilit.lock.table import Kind
from kilit.problems.failures import causes_of
from kilit.problems.registry import SeesEverything, find_problems
from tests.support.queue_rows import rows_of

pytestmark = pytest.mark.django_db


# Each operation by which a person fails a job.
ENDINGS = [
    (name, operation)
    for name, queue in queues.items()
    for operation in queue.operations
    if queue.table.kinds[queue.table.moves[operation.verb].target] == Kind.FAILED
]


@pytest.mark.parametrize(("name", "operation"), ENDINGS, ids=lambda value: getattr(value, "name", value))
def test_what_a_person_ended_is_no_problem_and_in_no_error_rate(name, operation, admin_user: User) -> None:
    queue, row = queues[name], rows_of(name).waiting()

    result = operation.apply(admin_user, [row.pk], {})

    assert result.moved == {row.pk}
    assert [group.total for group in ErrorGroup.objects.largest(queue=name)] == [1], "it is listed all the same"
    assert causes_of(queue, SeesEverything()) == []
    assert [problem for problem in find_problems(SeesEverything()) if problem.part == name] == []
    failed = queue.table.of_kind(Kind.FAILED)
    hours = Count.objects.last_day(queue=name, well=[], badly=failed)
    assert sum(hour.badly for hour in hours) == sum(hour.expected for hour in hours) == 1


def test_every_such_operation_is_declared_as_by_hand() -> None:
    """The PDFs have none; and a queue whose cancelled jobs have a state of their own needs none.

    Cancel makes another move of a cutting job that waits for people.
    """
    declared = {(name, verb) for name, queue in queues.items() for verb in queue.table.by_hand}

    made = {(name, operation.verb) for name, operation in ENDINGS} | {("cutting_job", "cancel_uncut")}
    assert made == declared
    assert {"conversion", "adjustment", "cutting_job", "message"} <= {name for name, _verb in declared}
