"""A worker process runs bulk actions without loading the console."""

import pytest

from kilit.batches.models import BulkAction
from kilit.batches.run import plan
from tests.support.bulk_actions import user_of
from tests.support.commands import run_python
from tests.support.workers import database_url

WORKER = """
import sys
import django

django.setup()

from kilit.batches.models import BulkAction
from kilit.batches.run import ENGINE

ENGINE.work_due()
BulkAction.objects.start(count=None)
ENGINE.work_due()
from tests.support.packages import PRODUCT as ours
pages = ("admin", "console")
loaded = [name for name in sys.modules if name.split(".")[0] in ours and set(name.split(".")[1:]) & set(pages)]
light = {f"kilit.console{part}" for part in ("", ".apps", ".models", ".registrations")}
print(*sorted(set(loaded) - light))
"""


@pytest.mark.django_db(transaction=True)
def test_a_bulk_action_is_planned_and_run_without_any_admin(make_person, make_failed, site) -> None:
    make_failed(site, 3)
    user, filters = user_of(make_person(sites={site: "operator"})), {"site": str(site.pk), "since": "24"}
    plan(queue="conversion", action="retry", user=user, filters=filters, filters_text="", reason="fixed", options={})

    worker = run_python(
        "-c", WORKER, DJANGO_SETTINGS_MODULE="tests.settings", DATABASE_URL=database_url(), SECRET_KEY="x"
    )

    action = BulkAction.objects.get()
    assert worker.returncode == 0, worker.stderr
    assert (action.status, action.moved_count) == ("DONE", 3)
    assert worker.stdout.split() == [], "modules of the console in a worker"
