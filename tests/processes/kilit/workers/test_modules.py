"""A worker loads no pages: what it looks for, does and reports is data beside the models."""

import pytest

from kilit.batches.queues import queues
from kilit.problems.models import ProblemRecord
from outbox.models import Endpoint, OutboxMessage
from outbox.models.endpoint import OffReason
from tests.support.alerts import make_channel
from tests.support.commands import run_python
from tests.support.dashboard import make_conversions, make_site
from tests.support.outbox import make_endpoint
from tests.support.workers import database_url

WORKER = """
import sys, django
django.setup()
from kilit.batches.queues import queues
from kilit.problems.tracking import track_problems
from kilit.workers import heartbeat
from kilit.workers.management.commands import runworkers
heartbeat.beat()
heartbeat.note_beat()
print(track_problems())
print(*sorted(queues))
print(*(name for name in sys.modules if name.startswith(PAGES) or ".admin" in name and not name.startswith("django.")))
"""
PAGES = (
    "config.urls",
    *(f"kilit.console.{room}" for room in ("account", "admin", "command_search", "dashboard", "jobs", "lists")),
    *(f"kilit.console.{room}" for room in ("navigation", "queue_admin")),
    *(f"unfold.{part}" for part in ("admin", "views", "contrib")),
)


# The text of an alert is a template, and with the first one Django loads the tags of all apps: unfold's need its views.
@pytest.mark.parametrize(("has_channel", "loaded"), [(False, ""), (True, "unfold.views")])
@pytest.mark.django_db(transaction=True)
def test_a_worker_that_looks_for_problems_loads_no_admin_and_no_urls(*, has_channel: bool, loaded: str) -> None:
    site = make_site("Ege", is_paused=True, pause_reason="Audit")
    make_conversions(site, badly=1)
    endpoint = make_endpoint(description="Shop")
    Endpoint.objects.filter(pk=endpoint.pk).switch_off(OffReason.GONE)
    if has_channel:
        make_channel().rules.create(min_severity=1)

    worker = WORKER.replace("PAGES", repr(PAGES))
    said = run_python(
        "-c",
        worker,
        SECRET_KEY="x",
        DATABASE_URL=database_url(),
        DJANGO_SETTINGS_MODULE="config.settings.server",
        KILIT_DISK_LOW_GB="0",
    )

    opened, registered, pages = said.stdout.splitlines() or [said.stderr, "", ""]
    links = {*ProblemRecord.objects.exclude(link="").values_list("link", flat=True)}
    assert opened == "Opened 4, closed 0."
    assert f"/admin/ociqueue/site/{site.pk}/change/" in links
    assert f"/admin/outbox/endpoint/{endpoint.pk}/change/" in links
    assert registered.split() == sorted(queues)
    assert pages == loaded
    assert OutboxMessage.objects.exists() == has_channel
