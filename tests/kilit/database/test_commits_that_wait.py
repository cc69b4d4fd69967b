"""Commits wait for a standby that is gone: a process that knows it begins no transaction, and still answers reads."""

from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User
from django.test import Client

from kilit.access.models import ApiKey
from kilit.database import limits
from kilit.database.outage import standby_outage
from kilit.postgres.external import base
from ociqueue.models import Conversion, Site
from tests.support.api import Api
from tests.support.conversions import SALE

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def _commits_wait(site: Site, api: Api, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(base, "commits_waiting", lambda _connection: 1)
    limits.limit_statements(60.0)
    standby_outage.begin("1 so far")
    yield
    standby_outage.end()
    limits.limit_statements(None)


@pytest.mark.usefixtures("_commits_wait")
def test_the_api_refuses_writes_and_answers_reads(site: Site, api: Api) -> None:
    written = api.post("oci/conversions", {"siteId": str(site.public_id), "conversions": [SALE]})
    read = api.get("oci/google-ads-export", siteId=str(site.public_id))

    assert (written.status_code, written["Retry-After"]) == (503, "5")
    sentence = "The database is waiting for its standby; nothing was changed."
    assert written.json()["error"] == {"code": "UNAVAILABLE", "message": sentence}
    assert read.status_code == 200
    assert not Conversion.objects.exists()
    assert ApiKey.objects.get().used_at is None  # it could not be noted, and that is no reason to refuse


@pytest.fixture
def console() -> Client:
    console = Client(raise_request_exception=False)
    console.force_login(User.objects.create_superuser("ayse", password="yeterince-uzun-bir-parola"))
    return console


@pytest.mark.parametrize(
    "path", ["", "search/?s=order", "ociqueue/conversion/?q=order", "orchestrator/job/?q=order", "pdfjobs/pdfjob/?q=x"]
)
def test_the_console_is_searched(path: str, console: Client, request: pytest.FixtureRequest) -> None:
    console.get("/admin/")  # it may store what it computed
    request.getfixturevalue("_commits_wait")

    answers = [console.get(f"/admin/{path}") for _ in range(2)]

    assert [answer.status_code for answer in answers] == [200, 200]
