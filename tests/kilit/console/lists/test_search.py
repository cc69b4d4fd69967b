"""A row is found by what pages call it, in every queue."""

import pytest
from django.contrib import admin

from kilit.batches.filters import bare_id
from kilit.console.lists.listing import LongListAdmin
from kilit.lock.guard import LifecycleModel
from orchestrator.models import Job
from pdfjobs.models import PdfJob
from tests.support.cutting_jobs import make_job
from tests.support.pdf_jobs import new_job, some_user

pytestmark = pytest.mark.django_db


def listed(client, model: type[LifecycleModel], text: str) -> list[LifecycleModel]:
    address = f"/admin/{model._meta.app_label}/{model._meta.model_name}/"
    return list(client.get(address, {"q": text}).context["cl"].result_list)


@pytest.mark.parametrize("model", [PdfJob, Job])
def test_a_row_is_found_by_its_name_however_it_is_written(admin_client, model: type[LifecycleModel]) -> None:
    row = new_job(some_user("shop")) if model is PdfJob else make_job()

    assert str(row).endswith(f" {row.pk}")
    for text in (str(row), str(row).upper(), str(row).title(), f"  {row} ", str(row).replace(" ", "  "), str(row.pk)):
        assert listed(admin_client, model, text) == [row], text
    for text in (str(row)[:-1], f"seal_{row.pk}", str(row).replace(" ", "")):
        assert listed(admin_client, model, text) == [], text


def test_every_long_list_knows_what_its_rows_are_called() -> None:
    """Rows are called by a prefix and their id; a name that needs more would not be found by it."""
    long = [each for each in admin.site._registry.values() if isinstance(each, LongListAdmin)]
    named = [each for each in long if issubclass(each.model, LifecycleModel)]

    assert len(named) >= 4
    for model_admin in named:
        row = model_admin.model()
        assert bare_id(model_admin.model, str(row).upper()) == str(row.pk)
