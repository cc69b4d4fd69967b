"""A bulk action is a job like any other: it conforms."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction

from kilit.batches.models import BulkAction
from kilit.lock.leases import no_lease
from tests.support.lifecycle_conformance import LifecycleConformance, Specimen


def make(**columns: Any) -> BulkAction:
    asker, _ = User.objects.get_or_create(username="asker")
    asked = {"queue": "conversion", "action": "retry", "filters": {"status": "FAILED"}, "reason": "fixed"}
    return BulkAction.objects.create(**{**asked, "asked_by": asker, **columns})


class TestBulkActions(LifecycleConformance):
    specimen = Specimen(
        BulkAction,
        make=make,
        changes={
            "prepare": lambda: {"total": 0, "eligible": 0, **no_lease()},
            "fail": lambda: {"error": "no", **no_lease()},
        },
    )


@pytest.mark.django_db
@pytest.mark.parametrize("columns", [{"filters": {}}, {"reason": ""}, {"done_count": 1}, {"moved_count": 1}])
def test_the_database_keeps_columns_and_states_in_agreement(columns: dict[str, Any]) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        make(**columns)


@pytest.mark.django_db
def test_nothing_runs_over_many_rows_without_their_number_whoever_starts_it() -> None:
    """The constraint sees what the verb's WHERE cannot: a hand that writes past the verb."""
    many = make().move("prepare", total=101, eligible=101)

    assert BulkAction.objects.filter(pk=many.pk).start(count=100) == 0
    with pytest.raises(IntegrityError, match="bulk_action_is_confirmed"), transaction.atomic():
        many.move("start", confirmed_count=100)
    assert BulkAction.objects.filter(pk=many.pk).start(count=101) == 1


@pytest.mark.django_db
def test_done_means_that_every_row_was_looked_at() -> None:
    action = make().move("prepare", total=2, eligible=2).move("start")

    with pytest.raises(IntegrityError, match="done_bulk_looked_at_all"), transaction.atomic():
        action.move("finish")
