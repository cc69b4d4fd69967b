"""Filters are data: each names a column and an index that exist."""

import pytest
from django.db import models

from kilit.batches.filters import FilterSet
from kilit.batches.queues import queues
from ociqueue.models import UploadBatch
from ociqueue.operating.filters import UPLOAD_FILTERS

LISTS = [*((queue.model, queue.filters) for queue in queues.values()), (UploadBatch, UPLOAD_FILTERS)]


def columns_of(index: models.Index) -> set[str]:
    """Return the columns of an index, with those that decide which rows it has."""
    chosen = [part[0] for part in index.condition.children if isinstance(part, tuple)] if index.condition else []
    return {*index.fields, *chosen}


@pytest.mark.parametrize(("model", "filters"), LISTS, ids=[model.__name__ for model, _ in LISTS])
def test_a_filter_names_a_column_and_an_index_that_exist(model: type[models.Model], filters: FilterSet) -> None:
    indexes = {index.name: index for index in model._meta.indexes}

    for each in filters:
        assert model._meta.get_field(each.column)
        assert not each.index or each.column in columns_of(indexes[each.index]), each.name
        if each.leads:
            assert indexes[each.index].fields == [each.column, "id"], (
                "a leading column begins an index that ends with the id"
            )


def test_the_filters_of_every_queue_begin_with_the_state() -> None:
    assert all(queue.filters.names[0] == "status" for queue in queues.values())
