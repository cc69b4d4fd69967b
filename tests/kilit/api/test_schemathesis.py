"""The API asked everything that its schema allows, and much that it does not: it answers as described."""

import os
import shutil
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from django.conf import settings as usual
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.handlers.wsgi import WSGIHandler
from django.core.signals import request_finished, request_started
from django.db import close_old_connections, transaction
from django.db.models.functions import Now
from django.test import Client, override_settings
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi import checks

from kilit.access.models import ApiKey
from kilit.workers.models import Heartbeat
from ociqueue.models import Conversion, Credentials, Site
from ociqueue.models.credentials import GoogleAdsAccount
from ociqueue.states import SyncMethod
from orchestrator.models import Job
from orchestrator.workflow.by_hand import cut_by_hand
from tests.support.agency import issue_admin_key
from tests.support.api_conformance import schema as described
from tests.support.conversions import YESTERDAY, new_conversion
from tests.support.cutting_jobs import CUTTING_JOBS, give_to_people, lose_sight, make_job
from tests.support.examples import few
from tests.support.outbox import make_endpoint, make_message
from tests.support.pdf_jobs import bring, new_job
from tests.support.people import browser_of

CHECKS = [
    not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
]
EXAMPLES = int(os.environ.get("KILIT_SCHEMATHESIS_EXAMPLES", "5"))
LOADED = schemathesis.openapi.from_dict(described())
HANDLER = WSGIHandler()
OPERATIONS = {
    f"{method.upper()} {path}": operation
    for path, methods in described()["paths"].items()
    for method, operation in methods.items()
}
ALLOWED, NOT_ALLOWED = GenerationMode.POSITIVE, GenerationMode.NEGATIVE
# A question without parameters or body cannot be asked wrongly.
CASES = [pytest.param(label, ALLOWED, id=f"{label} allowed") for label in OPERATIONS] + [
    pytest.param(label, NOT_ALLOWED, id=f"{label} not allowed")
    for label, operation in OPERATIONS.items()
    if {"parameters", "requestBody"} & operation.keys()
]
PEOPLE = ("/api/oci/queue-stats", "/api/oci/queue-rows", "/api/oci/queue-actions")
AGENCIES = ("/api/oci/sites", "/api/oci/members", "/api/oci/keys", "/api/oci/credentials", "/api/oci/google-counts")

pytestmark = [pytest.mark.django_db, pytest.mark.slow]  # it asks for every operation as everyone


def read_and_close(environ: dict[str, Any], start_response: Any) -> list[bytes]:
    """Close an answer when it is read, as servers do and schemathesis does not: files would stay open."""
    with closing(HANDLER(environ, start_response)) as answer:
        return [b"".join(answer)]


LOADED.app = read_and_close


@pytest.fixture(autouse=True)
def _one_connection() -> Iterator[None]:
    """Keep the test's transaction over requests, as Django's own test client does."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


def stored_in(folder: Path) -> dict[str, Any]:
    """Return the settings that keep documents in a folder."""
    store = {"BACKEND": "pdfjobs.storage.folder.FolderStorage", "OPTIONS": {"location": folder}}
    return {**usual.STORAGES, "artifacts": store}


@pytest.fixture(scope="module")
def rows(django_db_setup: None, django_db_blocker: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Create rows to request, and a user with all permissions: once, and every test takes back what it did to them."""
    folder = tmp_path_factory.mktemp("artifacts")
    with django_db_blocker.unblock(), transaction.atomic():
        with override_settings(STORAGES=stored_in(folder)):
            made = make_rows()
        yield folder, made
        transaction.set_rollback(True)


def make_rows() -> dict[str, Any]:
    Heartbeat.objects.create(name="here", alive_at=Now() + timedelta(hours=1))
    user = User.objects.create_superuser("root")
    site = Site.objects.create(name="Mobilya", default_currency="TRY")
    Conversion.objects.bulk_create([new_conversion(site) for _ in range(20)])
    return {
        "key": ApiKey.objects.issue(user, name="test")[1],
        "admin key": issue_admin_key(user),
        "cookie": browser_of(user).cookies["sessionid"].value,
        "siteId": site.public_id,
        "ids": [f"seal_{pk}" for pk in Conversion.objects.values_list("pk", flat=True)],
        "endpoints": [str(make_endpoint().pk) for _ in range(3)],
        "messages": [make_message().webhook_id for _ in range(3)],
        "jobs": [str(make_job(order_id=f"S-{number}").pk) for number in range(3)],
        "pdfs": [str(bring(new_job(user, n), state).pk) for n, state in enumerate(("succeeded", "queued", "failed"))],
    }


@pytest.fixture(autouse=True)
def _solver(monkeypatch: pytest.MonkeyPatch) -> None:
    """Estimate with strips, which no test here looks at, also on a Python that has no solver."""
    monkeypatch.setattr("orchestrator.cutting.solving.missing", lambda: "")


@pytest.fixture
def world(rows: Any, settings: Any, tmp_path: Path) -> dict[str, Any]:
    """Give the rows, and files of the test's own."""
    folder, made = rows
    settings.CRON_SECRET = "cron-secret"
    settings.RATE_PER_MINUTE = settings.ADMIN_RATE_PER_MINUTE = 10**6
    settings.STORAGES = stored_in(Path(shutil.copytree(folder, tmp_path / "artifacts")))
    return made


def headers_for(world: dict[str, Any], path: str) -> dict[str, str]:
    if path in PEOPLE:
        token = "c" * 32
        return {"Cookie": f"sessionid={world['cookie']}; csrftoken={token}", "X-CSRFToken": token}
    key = world["admin key" if path.startswith(AGENCIES) else "key"]
    return {"Authorization": f"Bearer {'cron-secret' if '/cron/' in path else key}"}


def ids_of(world: dict[str, Any], path: str) -> list[str]:
    return next((world[name] for name in ("endpoints", "messages") if f"/outbox/{name}/" in path), world["jobs"])


def make_real(case: Any, world: dict[str, Any], number: int) -> None:
    """Put ids of rows that there are where made-up ones stand, so that more than 404 is seen."""
    for name, values in (("id", ids_of(world, case.path)), ("job_id", world["pdfs"])):
        if name in (case.path_parameters or {}):
            case.path_parameters[name] = values[number % 3]
    if isinstance(case.body, dict) and "siteId" in case.body:
        case.body["siteId"] = world["siteId"]
        for name in {"ids", "queueIds"} & case.body.keys():
            case.body[name] = world["ids"][number : number + 2]
    if isinstance(case.body, dict) and "/sites/" in case.path:
        case.body["sites"] = [world["siteId"]]
    if "siteId" in (case.query or {}):
        case.query["siteId"] = world["siteId"]


@pytest.mark.parametrize(("label", "mode"), CASES)
@pytest.mark.by_day(60)
def test_every_response_matches_the_schema(world: dict[str, Any], label: str, mode: GenerationMode) -> None:
    method, _, path = label.partition(" ")

    @settings(few(EXAMPLES), derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
    @given(case=LOADED[path][method].as_strategy(generation_mode=mode), real=st.integers(0, 3))
    def ask(case: Any, real: int) -> None:
        if real:
            make_real(case, world, real)
        answer = case.call(headers=headers_for(world, path))
        case.validate_response(answer, checks=CHECKS)

    ask()


EXAMPLES_OF_BODIES = [
    pytest.param(path, example["value"], id=f"{path} {name}")
    for path, methods in described()["paths"].items()
    for body in methods.get("post", {}).get("requestBody", {}).get("content", {}).values()
    for name, example in body["examples"].items()
]
OF_EXAMPLES = ([], ["created"], ["notFound"] * 2, ["changed"], ["unchanged"])
# The state of a job that a decision needs.
BEFORE = {"/jobs/{id}/retry": "fail", "/jobs/{id}/approve": "hold"}
ASKED_AT_THE_SAW = ("/jobs/{id}/confirm-cut", "/jobs/{id}/hand-over")


def job_to_cut() -> str:
    """Store a job of four boards, of which people have cut one."""
    job = CUTTING_JOBS.row_in("XML_READY")
    Job.objects.filter(pk=job.pk).update(payload=make_job().payload)
    give_to_people(job)
    board = b'<O><Solution best="1"><Pattern boards="4" length="2800" width="2100"/></Solution></O>'
    job.solution_files.create(name="a.xml", content=board, sha256="0" * 64)
    cut_by_hand(job.pk, boards=1, by="Ayşe")
    return str(job.pk)


def adjustable(world: dict[str, Any]) -> str:
    """Store the conversion that the examples of adjustments name, at a site whose sender takes adjustments."""
    Site.objects.with_id(world["siteId"]).update(sync_method=SyncMethod.API)
    row = new_conversion(Site.objects.with_id(world["siteId"]).get(), source_key="order-1001")
    row.save()
    return str(row)


def keys_of_example(world: dict[str, Any], items: list[Any]) -> list[Any]:
    """Return keys of a site that there is: to issue, or issued before and named by their ids."""
    site = Site.objects.with_id(world["siteId"]).get()
    if isinstance(items[0], dict):
        return [item | {"site": site.public_id} for item in items]
    site.issue_key(name="shop")
    return [site.keys().latest("pk").pk]


def store_login(world: dict[str, Any]) -> None:
    account = GoogleAdsAccount(customer_id="1234567890", conversion_action="customers/1234567890/conversionActions/7")
    Credentials.objects.store(Site.objects.with_id(world["siteId"]).get(), account)


def send(client: Client, address: str, body: dict[str, Any]) -> Any:
    if "file" in body:  # of a form
        return client.post(address, body | {"file": SimpleUploadedFile("list.csv", body["file"].encode())})
    return client.post(address, body, content_type="application/json")


@pytest.mark.parametrize(("path", "example"), EXAMPLES_OF_BODIES)
def test_every_example_is_accepted(world: dict[str, Any], settings: Any, path: str, example: dict[str, Any]) -> None:
    """What integrators copy must work as it is, but for the ids, and times that are too old one day."""
    settings.PUBLIC_URL = "https://kilit.example"
    if path in BEFORE:
        Job.objects.filter(pk=world["jobs"][0]).move(BEFORE[path], **CUTTING_JOBS.changes[BEFORE[path]]())
    if path in ASKED_AT_THE_SAW:
        job = Job.objects.get(pk=world["jobs"][0])
        CUTTING_JOBS.apply(job, "fail")
        lose_sight(job)
    body = example | {name: world["siteId"] for name in ("siteId", "site_id") if name in example}
    if path.startswith("/api/ask/"):
        existing = {"ids": [str(world["jobs"][0])], "job": str(world["jobs"][0]), "site": world["siteId"]}
        body |= {name: existing[name] for name in existing if name in example}
    if "conversions" in example:
        body["conversions"] = [item | {"conversionTime": YESTERDAY} for item in example["conversions"]]
    if "adjustments" in example:
        row = adjustable(world)
        body["adjustments"] = [item | ({"id": row} if "id" in item else {}) for item in example["adjustments"]]
    if "/sites/" in path:
        body["sites"] = [Site.objects.create(name="Without rows").public_id]
    if "keys" in example:
        body["keys"] = keys_of_example(world, example["keys"])
    if path == "/api/oci/credentials/test":
        store_login(world)
    if "members" in example:
        body["members"] = [item | {"site": world["siteId"]} for item in example["members"]]
    row = job_to_cut() if path.endswith(("/cut-by-hand", "/cancel-rest")) else ids_of(world, path)[0]
    address = path.replace("{id}", row).replace("{job_id}", world["pdfs"][0])
    address = address.replace("{kind}", "labels")

    answer = send(Client(headers=headers_for(world, path)), address, body)

    assert answer.status_code in (200, 201), answer.content
    assert [result["status"] for result in answer.json().get("results", [])] in OF_EXAMPLES
