"""What is known of groups of errors; one row is enough to know, because a group has one code and one message."""

from collections.abc import Iterable, Mapping
from typing import Any

from kilit.batches.error_entries import ErrorEntry
from ociqueue.codes.table import (
    EXPECTED_ADJUSTMENT_FAILURES,
    EXPECTED_FAILURES,
    UNEXPECTED_IN_VERDICTS,
    entry_for,
)
from ociqueue.models import Conversion
from ociqueue.models.conversion import FAILURES
from ociqueue.models.uploadable import FACT_COLUMNS, Uploadable, error_facts
from ociqueue.states import SyncMethod


def entries_of_groups(names: Iterable[str], *, model: type[Uploadable]) -> dict[str, ErrorEntry]:
    return {
        name: entry_for(model.ERRORS, error_facts(columns))
        for name, *columns in _one_of_each(names, *FACT_COLUMNS, model=model)
    }


def expected_groups(codes: Mapping[str, str]) -> set[str]:
    """Return which error groups leave nothing to do; `codes` are their codes by their names."""
    shared = [name for name, code in codes.items() if code in UNEXPECTED_IN_VERDICTS]
    in_verdicts = {
        name for name, sender in _one_of_each(shared, "site__sync_method") if sender == SyncMethod.DATA_MANAGER
    }
    return {name for name, code in codes.items() if code in EXPECTED_FAILURES} - in_verdicts


def expected_adjustment_groups(codes: Mapping[str, str]) -> set[str]:
    return {name for name, code in codes.items() if code in EXPECTED_ADJUSTMENT_FAILURES}


def _one_of_each(names: Iterable[str], *columns: str, model: type[Uploadable] = Conversion) -> list[tuple[Any, ...]]:
    # By a range and in this order, so that only the index of the groups serves (kilit.batches.filters).
    rows = model._default_manager.filter(FAILURES.condition).order_by("error_group", "id")
    groups = (rows.filter(error_group__gte=name, error_group__lte=name) for name in names)
    queries = [group.values_list("error_group", *columns)[:1] for group in groups]
    return list(queries[0].union(*queries[1:], all=True)) if queries else []
