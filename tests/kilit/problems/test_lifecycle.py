"""A problem's record has a lifecycle as any job has: it conforms."""

from itertools import count
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models.functions import Now

from kilit.problems.models import ProblemRecord
from tests.support.lifecycle_conformance import LifecycleConformance, Specimen

numbers = count()


def make(**columns: Any) -> ProblemRecord:
    texts = {"en": {"title": "A disk is almost full", "cause": "", "where": [], "beyond": 0}}
    some = {"key": f"disk-{next(numbers)}", "part": "installation", "kind": "disk-low", "severity": 3, "texts": texts}
    return ProblemRecord.objects.create(**{**some, **columns})


class TestProblemRecords(LifecycleConformance):
    specimen = Specimen(ProblemRecord, make=make, changes={"close": lambda: {"closed_at": Now()}})


@pytest.mark.django_db
@pytest.mark.parametrize("columns", [{"closed_at": Now()}, {"muted_until": Now()}])
def test_the_database_keeps_columns_and_states_in_agreement(columns: dict[str, Any]) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        make(**columns)


@pytest.mark.django_db
def test_a_reader_has_one_open_record_of_a_problem() -> None:
    ayse, baran = User.objects.create(username="ayse"), User.objects.create(username="baran")
    for reader in (None, ayse, baran):
        make(key="same", reader=reader)

    for reader in (None, ayse):
        with pytest.raises(IntegrityError), transaction.atomic():
            make(key="same", reader=reader)

    ProblemRecord.objects.filter(reader=None).move("close", closed_at=Now())
    make(key="same")
