"""A read-only database: writes get a clear 503, what only reads still works, and every way in says why."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.http import HttpRequest
from django.test import Client

from config.settings.startup_errors import one_line_errors
from kilit.access.models import ApiKey
from kilit.console.dashboard.live import PageState, page_state
from kilit.database.outage import read_only_outage
from kilit.workers.models import Heartbeat
from ociqueue.models import Site
from tests.support.api import Api
from tests.support.conversions import SALE
from tests.support.read_only import read_only_database

pytestmark = pytest.mark.django_db(transaction=True)

SENTENCE = "The database is read-only; nothing was changed."


@pytest.fixture
def console() -> Client:
    console = Client(raise_request_exception=False)
    console.force_login(User.objects.create_superuser("ayse", password="yeterince-uzun-bir-parola"))
    return console


@pytest.fixture
def read_only(site: Site, api: Api, console: Client) -> Iterator[None]:
    Heartbeat.objects.create(name="here:1", alive_at="2030-01-01T00:00:00Z")
    with read_only_database():
        yield


@pytest.mark.usefixtures("read_only")
def test_the_api_refuses_writes_and_answers_reads(site: Site, api: Api) -> None:
    written = api.post("oci/conversions", {"siteId": str(site.public_id), "conversions": [SALE]})
    claimed = api.get("oci/google-ads-export", siteId=str(site.public_id), markAsExported="true")
    read = api.get("oci/google-ads-export", siteId=str(site.public_id))

    for answer in (written, claimed):
        assert (answer.status_code, answer["Retry-After"]) == (503, "5")
        assert answer.json()["error"] == {"code": "UNAVAILABLE", "message": SENTENCE}
    assert read.status_code == 200
    assert ApiKey.objects.get().used_at is None  # it could not be noted, and that is no reason to refuse


@pytest.mark.usefixtures("read_only")
def test_it_is_alive_but_not_ready() -> None:
    ready = Client().get("/readyz")

    assert (ready.status_code, ready.json()["status"]) == (503, "not ready")
    assert ready.json()["checks"] == {
        "database": "read-only: nothing can be stored",
        "migrations": "ok",
        "workers": "ok",
    }
    assert Client().get("/healthz").status_code == 200
    assert Client().get("/metrics").status_code == 200


@pytest.mark.usefixtures("read_only")
def test_the_console_can_be_read_and_says_so(console: Client) -> None:
    for path in ("", "ociqueue/conversion/", "ociqueue/site/", "pdfjobs/pdfjob/", "orchestrator/job/", "workers/"):
        page: Any = console.get(f"/admin/{path}")
        assert page.status_code == 200, path
        assert page.text.count("The database is read-only.") == 1, path


@pytest.mark.usefixtures("read_only")
def test_what_the_console_would_store_is_refused_in_words(site: Site, console: Client) -> None:
    login = Client(raise_request_exception=False).post(
        "/admin/login/", {"username": "ayse", "password": "yeterince-uzun-bir-parola"}
    )
    wrong = Client(raise_request_exception=False).post("/admin/login/", {"username": "ayse", "password": "?"})
    logout = console.post("/admin/logout/")

    for answer in (login, wrong, logout):
        assert (answer.status_code, answer["Retry-After"]) == (503, "5")
        assert SENTENCE in answer.text


@pytest.mark.usefixtures("read_only")
def test_a_session_that_cannot_be_saved_is_not_called_malformed(console: Client, monkeypatch) -> None:
    def remember(request: HttpRequest, *_: Any) -> PageState:
        request.session["last"] = "a change"
        return page_state(request)

    monkeypatch.setattr("kilit.console.dashboard.live.page_state", remember)
    answer = console.get("/admin/ociqueue/site/")

    assert (answer.status_code, SENTENCE in answer.text) == (503, True)


@pytest.mark.usefixtures("read_only")
def test_a_command_ends_with_a_sentence() -> None:
    for command in ("forget_denied_requests", "oci_attempt_cap", "pdf_reap"):
        with pytest.raises(SystemExit, match="the database is read-only"), one_line_errors():
            call_command(command)


@pytest.mark.usefixtures("read_only")
def test_a_search_does_not_end_the_outage(console: Client) -> None:
    Client(raise_request_exception=False).post("/admin/login/", {"username": "ayse", "password": "?"})

    found = console.get("/admin/ociqueue/site/", {"q": "a"}), console.get("/admin/search/", {"s": "a"})
    rows = list(Site.objects.order_by().union(Site.objects.order_by(), all=True))

    assert [page.status_code for page in found] == [200, 200]
    assert rows
    assert read_only_outage.is_on
