"""The paths that problems lead to: workers write them without the pages, which have the last word."""

import pytest
from django.urls import NoReverseMatch, reverse

from kilit.batches.queues import queues
from kilit.problems.links import PAGES, list_path, page_path, workers_path
from ociqueue.models import ImportJob, Site, UploadBatch
from orchestrator.models import RulesVersion
from outbox.models import Endpoint

QUEUES = [queue.model for queue in queues.values() if queue.model._meta.app_label != "parcels"]
MODELS = [*QUEUES, ImportJob, Site, UploadBatch, RulesVersion, Endpoint]


def reversed_path(model, page: str) -> str:
    name = f"admin:{model._meta.app_label}_{model._meta.model_name}_{page}"
    return reverse(name, args=["1a-2"] * PAGES[page].count("{}"))


@pytest.mark.parametrize("page", PAGES)
def test_a_path_is_that_of_the_page_wherever_there_is_such_a_page(page: str) -> None:
    pages = {}
    for model in MODELS:
        try:
            pages[model] = reversed_path(model, page)
        except NoReverseMatch:
            continue

    assert pages
    assert {model: page_path(model, page, "1a-2") for model in pages} == pages


@pytest.mark.parametrize("model", QUEUES)
def test_the_pages_of_failed_jobs_are_there_for_every_queue(model) -> None:
    for page in ("changelist", "change", "act_on_all", "error_groups"):
        assert page_path(model, page, "1a-2") == reversed_path(model, page)


def test_filters_are_written_as_reverse_writes_them() -> None:
    filters = {"sync_method__in": "API,DATA_MANAGER", "group": "a b&c=ü"}

    assert list_path(Site, **filters) == reverse("admin:ociqueue_site_changelist", query=filters)


def test_the_page_of_the_workers_has_a_line_for_each_task() -> None:
    assert workers_path() == reverse("console:workers")
    assert workers_path("prune") == f"{reverse('console:workers')}#sweep-prune"
