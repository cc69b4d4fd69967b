"""What comes from outside and must stay outside: hosts, fields, signatures, lines of a log."""

import json
import logging
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.auth.models import User
from django.contrib.sessions.serializers import JSONSerializer
from django.core.signing import BadSignature
from django.db.models.functions import Now
from django.test import Client
from django.urls import reverse
from django.utils.module_loading import import_string
from django_q import core_signing
from django_q.models import OrmQ
from django_q.signing import PickleSerializer, SignedPackage

from config.settings.logs import ContextFilter, JsonFormatter
from kilit.access.models import ApiKey
from kilit.workers import doorbells
from kilit.workers.models import Heartbeat
from ociqueue.models import Conversion
from orchestrator.models import Job
from pdfjobs.models import PdfJob
from tests.support.commands import ROOT
from tests.support.conversions import SALE
from tests.support.cutting_jobs import order_body
from tests.support.fixtures.conversions import api, make_site, site, site_key  # noqa: F401 - a site and its key
from tests.support.packages import PRODUCT
from tests.support.pdf_jobs import body, new_job, some_user

pytestmark = pytest.mark.django_db


def caller(name: str) -> Client:
    """Return a backend that may have things made."""
    return Client(headers={"x-api-key": ApiKey.objects.issue(some_user(name), name="test")[1]})


@pytest.mark.parametrize("address", ["/admin/login/", "/jobs", "/api/schema/", "/pdf/templates"])
def test_a_host_that_is_not_ours_is_refused_wherever_it_is_named(address: str) -> None:
    assert Client().get(address, headers={"host": "evil.example"}).status_code == 400
    # X-Forwarded-Host is not trusted unless it is turned on.
    answer = Client().get(address, headers={"x-forwarded-host": "evil.example"}, follow=True)
    assert answer.status_code == Client().get(address, follow=True).status_code  # it was ignored
    assert "evil.example" not in str(answer.headers) + answer.content.decode()


@pytest.mark.parametrize("next_page", ["https://evil.example/", "//evil.example", "javascript:alert(1)"])
def test_a_login_leads_to_no_other_site(next_page: str) -> None:
    User.objects.create_superuser("ayse", password="a long enough one")
    login = {"username": "ayse", "password": "a long enough one", "next": next_page}

    answer = Client().post(f"/admin/login/?next={next_page}", login)

    assert answer.headers["Location"] == "/admin/"


OWN_COLUMNS = {
    "status": "COMPLETED",
    "attempt_count": 99,
    "attemptCount": 99,
    "id": "00000000-0000-0000-0000-000000000000",
    "site": 1,
    "site_id": 1,
    "order_id": "mine",
    "orderId": "mine",
    "owner": 1,
    "created_at": "2000-01-01",
}


def test_a_conversion_takes_no_column_that_is_ours(api, site) -> None:  # noqa: F811
    item = {**SALE, "conversionCurrency": "TRY"}

    response = api.post("oci/conversions", {"siteId": site.public_id, "conversions": [item | OWN_COLUMNS, item]}).json()

    refused, taken = response["results"]
    assert {error["field"] for error in refused["errors"]} == OWN_COLUMNS.keys()
    assert taken["status"] == "created"
    for row in Conversion.objects.all():
        assert (row.status, row.attempt_count, row.site, row.order_id != "mine") == ("QUEUED", 0, site, True)
        assert row.pk.int != 0
    assert Conversion.objects.count() >= 1


def test_an_order_takes_no_column_that_is_ours() -> None:
    shop = caller("shop")
    own = {name: value for name, value in OWN_COLUMNS.items() if name != "order_id"}
    response = shop.post("/jobs", order_body(order_id="S-1") | own, content_type="application/json")
    assert response.status_code == 422
    assert {fault.partition(":")[0] for fault in response.json()["error"]["faults"]} == own.keys()
    shop.post("/jobs", order_body(order_id="S-2"), content_type="application/json")

    assert Job.objects.filter(order_id="S-2").exists()
    assert {(job.status, job.retry_count) for job in Job.objects.all()} == {("NEW", 0)}


def test_a_document_takes_no_owner_but_its_caller() -> None:
    Heartbeat.objects.create(name="here", alive_at=Now() + timedelta(hours=1))
    shop, other = caller("shop"), some_user("other")
    changes = OWN_COLUMNS | {"status": "succeeded", "owner": other.pk, "owner_id": other.pk, "artifact_key": "x"}

    response = shop.post("/pdf/jobs", body() | changes, content_type="application/json")
    assert response.status_code in (400, 422)
    assert all(name in response.content.decode() for name in changes)
    shop.post("/pdf/jobs", body("offer"), content_type="application/json")

    job = PdfJob.objects.get()
    assert (job.owner.username, job.status, job.artifact_key) == ("shop", "queued", "")


def test_another_owners_document_is_like_one_that_does_not_exist() -> None:
    job, stranger = new_job(some_user("shop")), caller("other")
    unknown = "00000000-0000-7000-8000-000000000000"

    for name in ("pdf-job", "pdf-download"):
        theirs, nobodys = (stranger.get(reverse(name, args=[pk])) for pk in (job.pk, unknown))
        assert theirs.status_code == nobodys.status_code == 404
        assert theirs.content.replace(str(job.pk).encode(), unknown.encode()) == nobodys.content


class Trap:
    """Runs code where it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


def test_a_task_that_we_did_not_sign_is_not_unpickled(tmp_path: Path) -> None:
    trap = Trap(tmp_path / "sprung")
    forged = core_signing.dumps(trap, key="guessed", salt="kilit", serializer=PickleSerializer)
    PickleSerializer.loads(PickleSerializer.dumps(trap))
    (tmp_path / "sprung").unlink()  # it works

    with pytest.raises(BadSignature):
        SignedPackage.loads(forged)
    stored = OrmQ(key="kilit", payload=forged)

    assert not (tmp_path / "sprung").exists()
    assert "task_id" not in repr(stored.task)  # it only says that the signature is bad
    assert not (tmp_path / "sprung").exists()


def test_a_doorbell_carries_nothing_of_a_job(django_capture_on_commit_callbacks: Any) -> None:
    Heartbeat.objects.create(name="here", alive_at=Now() + timedelta(hours=1))  # without a worker nothing is rung

    with django_capture_on_commit_callbacks(execute=True):
        new_job()
        doorbells.ring("pdfjobs")

    (queued,) = OrmQ.objects.all()
    task = SignedPackage.loads(queued.payload)
    assert (task["func"], task["args"], task["kwargs"]) == ("kilit.workers.doorbells.handle", ("pdfjobs",), {})


def test_tasks_and_schedules_cannot_be_created_in_the_console() -> None:
    """A schedule names the function that it calls."""
    assert not [model for model in admin.site._registry if model._meta.app_label == "django_q"]


def test_sessions_are_json(settings: Any) -> None:
    assert import_string(settings.SESSION_SERIALIZER) is JSONSerializer
    assert settings.SESSION_ENGINE == "django.contrib.sessions.backends.db"


def test_no_code_of_ours_unpickles_evaluates_or_asks_a_shell() -> None:
    sources = [path for folder in PRODUCT for path in (ROOT / folder).rglob("*.py")]
    words = ("import pickle", "marshal", "yaml.load(", " eval(", " exec(", "shell=True", "os.system(", "mark_safe(f")

    found = [f"{path.relative_to(ROOT)}: {word}" for path in sources for word in words if word in path.read_text()]

    assert len(sources) > 100
    assert found == []


@pytest.mark.parametrize("newline", ["%0a", "%0d%0a", "%E2%80%A8", "%1b[2J"])
def test_no_address_writes_a_line_of_its_own_into_the_log(caplog: Any, newline: str) -> None:
    forged = f'/x{newline}{{"level":"ERROR","message":"forged"}}'

    with caplog.at_level(logging.INFO):
        Client().get(forged, headers={"user-agent": "a\tb", "x-request-id": "x\ty"})

    for record in caplog.records:
        ContextFilter().filter(record)
        line = JsonFormatter().format(record)
        assert not set(line) & {"\n", "\r", "\x1b"}
        assert json.loads(line)["level"] == record.levelname


@pytest.mark.parametrize("path", ["/static/../config/settings.py", "/static/%2e%2e/manage.py", "/static//etc/passwd"])
def test_no_static_address_leaves_its_folder(settings, path: str) -> None:
    settings.WHITENOISE_AUTOREFRESH = False  # as the product serves them

    answer = Client().get(path)

    assert answer.status_code in (400, 403, 404)
    assert b"DJANGO_SETTINGS_MODULE" not in answer.content
