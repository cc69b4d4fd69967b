"""Paths of the console's pages, for workers, which load no pages: a test compares each with what `reverse` returns."""

from django.db.models import Model
from django.urls import get_script_prefix
from django.utils.http import urlencode

# What follows the path of the model, by the name of the page.
PAGES = {
    "changelist": "",
    "change": "{}/change/",
    # of queues
    "act_on_all": "all/{}/",
    "error_groups": "groups/",
    "import_csv": "import/",
    "resume_queue": "resume/",
    # of cutting jobs
    "add_customers": "add-customers/",
    "days": "days/",
    # of sites
    "ads_script": "{}/ads-script/",
    "circuit": "{}/circuit/",
    "credentials": "{}/credentials/",
    "google_counts": "{}/google-counts/",
    "resume": "{}/resume/",
    "settings": "{}/settings/",
    # of endpoints
    "switch_on": "{}/switch-on/",
}


def list_path(model: type[Model], **filters: str) -> str:
    return page_path(model, "changelist", **filters)


def row_path(row: Model) -> str:
    return page_path(type(row), "change", row.pk)


def page_path(model: type[Model], page: str, *args: object, **query: str) -> str:
    opts = model._meta
    path = f"{get_script_prefix()}admin/{opts.app_label}/{opts.model_name}/{PAGES[page].format(*args)}"
    return f"{path}?{urlencode(query)}" if query else path


def workers_path(task: str = "") -> str:
    """Return the page of the workers, or the line of a scheduled task on it."""
    return f"{get_script_prefix()}admin/workers/" + (f"#sweep-{task}" if task else "")
