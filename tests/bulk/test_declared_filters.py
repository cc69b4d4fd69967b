"""Filters are data: each names a column and an index that exist."""

import pytest
from django.db import models

from kilit.bulk.filters import Filter, FilterSet
from kilit.bulk.queues import queues
from ociqueue.filters import UPLOAD_FILTERS
from ociqueue.models import UploadBatch


def declared() -> list[tuple[type[models.Model], Filter]]:
    lists: list[tuple[type[models.Model], FilterSet]] = [(queue.model, queue.filters) for queue in queues.values()]
    return [(model, each) for model, filters in [*lists, (UploadBatch, UPLOAD_FILTERS)] for each in filters]


@pytest.mark.parametrize(("model", "each"), declared(), ids=lambda value: getattr(value, "name", value.__name__))
def test_a_filter_names_a_column_and_an_index_that_exist(model: type[models.Model], each: Filter) -> None:
    indexes = {index.name: index.fields for index in model._meta.indexes}

    assert model._meta.get_field(each.column)
    assert not each.index or each.column in indexes[each.index]
    if each.leads:
        assert indexes[each.index] == [each.column, "id"], "a leading column begins an index that ends with the id"


def test_every_queue_is_registered_with_its_filters() -> None:
    assert sorted(queues) == ["conversion", "cutting_job", "pdf"]
    assert all(queue.filters.names[0] == "status" for queue in queues.values())
