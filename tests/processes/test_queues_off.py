"""A queue that an installation does not use is switched off by one setting, and then it is nowhere."""

import json

import pytest
from django.contrib.auth.models import User

from tests.support.bulk_actions import asked
from tests.support.commands import manage, run_python
from tests.support.dashboard import make_conversions, make_site
from tests.support.people import browser_of
from tests.support.workers import database_url

LOOK = """
import json, django
django.setup()
from django.contrib.auth.models import User
from django.test import Client
from drf_spectacular.generators import SchemaGenerator
from config import urls
from kilit.console.admin.keys import ScopesField
from kilit.workers.sweeps import sweeps

client = Client(HTTP_HOST="localhost")
client.force_login(User.objects.get(username="root"))
pages = {path: client.get(path) for path in (
    "/admin/", "/admin/workers/", "/admin/lock/activity/", "/admin/access/apikey/add/", "/admin/outbox/channel/add/",
    "/admin/outbox/endpoint/add/", "/admin/problems/problemrecord/", "/admin/search/?s=PDF", "/admin/search/?s=Jobs",
    "/admin/search/?s=sites", "/admin/ociqueue/conversion/", "/admin/pdfjobs/pdfjob/", "/admin/orchestrator/job/",
)}
print(json.dumps({
    "statuses": {path: page.status_code for path, page in pages.items()},
    "text": " ".join(page.content.decode() for page in pages.values() if page.status_code == 200),
    "api": [*SchemaGenerator().get_schema(public=True)["paths"]],
    "scopes": dict(ScopesField().choices),
    "sweeps": [*sweeps],
}))
"""


def look(off: str) -> dict:
    run = run_python(
        "-W", "ignore", "-c", LOOK,
        SECRET_KEY="x", DATABASE_URL=database_url(), DJANGO_SETTINGS_MODULE="config.settings.server",
        KILIT_QUEUES_OFF=off,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("off", "apps", "paths"),
    [
        ("pdf,cutting", ("pdfjobs", "orchestrator"), ("/pdf/", "/jobs", "/customers")),
        ("conversions", ("ociqueue",), ("/api/oci/",)),
    ],
)
@pytest.mark.by_day(1)
def test_a_queue_that_is_off_is_nowhere_and_the_others_work(off, apps, paths) -> None:
    root = User.objects.create_superuser("root")
    site = make_site("Ege")
    make_conversions(site, badly=1)
    asked(browser_of(root))  # its activity stays readable

    found = look(off)

    for path, status in found["statuses"].items():
        assert status == (404 if path.startswith(tuple(f"/admin/{app}/" for app in apps)) else 200), path
    for app in apps:
        assert f"/admin/{app}/" not in found["text"]
    assert not [path for path in found["api"] if path.startswith(paths)]
    assert "/api/outbox/endpoints" in found["api"]
    assert ("script" in found["scopes"]) is (off != "conversions")
    assert ("documents" in found["scopes"]["enqueue"]) is (off == "conversions")
    assert not [name for name in found["sweeps"] if name.startswith(tuple(p[:3] for p in apps))]


def test_an_unknown_queue_is_refused() -> None:
    answer = manage("check", KILIT_QUEUES_OFF="pdf,webhooks")

    assert "KILIT_QUEUES_OFF has 'webhooks', which is not one of conversions, pdf, cutting." in answer.stderr
