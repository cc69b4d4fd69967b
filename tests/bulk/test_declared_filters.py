"""Filters are data: each names a column and an index that exist."""

import pytest
from django.db import models

from kilit.bulk.filters import FilterSet
from kilit.bulk.queues import queues
from ociqueue.filters import UPLOAD_FILTERS
from ociqueue.models import UploadBatch

LISTS = [*((queue.model, queue.filters) for queue in queues.values()), (UploadBatch, UPLOAD_FILTERS)]


@pytest.mark.parametrize(("model", "filters"), LISTS, ids=[model.__name__ for model, _ in LISTS])
def test_a_filter_names_a_column_and_an_index_that_exist(model: type[models.Model], filters: FilterSet) -> None:
    indexes = {index.name: index.fields for index in model._meta.indexes}

    for each in filters:
        assert model._meta.get_field(each.column)
        assert not each.index or each.column in indexes[each.index], each.name
        if each.leads:
            assert indexes[each.index] == [each.column, "id"], "a leading column begins an index that ends with the id"


def test_every_queue_is_registered_with_its_filters() -> None:
    assert sorted(queues) == ["adjustment", "conversion", "cutting_job", "message", "pdf"]
    assert all(queue.filters.names[0] == "status" for queue in queues.values())
