"""One shape for every refusal of every API."""

from typing import Annotated

import pytest
from django.db import OperationalError
from django.http import HttpResponse
from django.test import Client, RequestFactory
from psycopg.errors import DiskFull
from pydantic import Field
from rest_framework.exceptions import Throttled
from rest_framework.test import APIRequestFactory, force_authenticate
from rest_framework.views import APIView

from config.web.middleware import MalformedRequestMiddleware
from kilit.api.input_model import InputModel
from kilit.lock import outages
from tests.apps.parcels.models import Parcel


class SomePart(InputModel):
    quantity: Annotated[int, Field(ge=1)]


class SomeOrder(InputModel):
    order_id: str
    parts: list[SomePart]


class OrderView(APIView):
    """Does what its caller asks for: moves a parcel, or validates an order."""

    def post(self, request):
        if key := request.data.get("deliver"):
            Parcel.objects.get(pk=key).move("deliver")
        if request.data.get("throttled"):
            raise Throttled(wait=7)
        SomeOrder.read(request.data)


def post(data, *, user, content_type: str = "application/json"):
    body = data if isinstance(data, bytes) else None
    factory = APIRequestFactory()
    request = (
        factory.generic("POST", "/", body, content_type=content_type)
        if body is not None
        else factory.post("/", data, format="json")
    )
    if user:
        force_authenticate(request, user)
    answer = OrderView.as_view()(request)
    answer.render()
    return answer


pytestmark = pytest.mark.django_db


def test_a_refused_move_is_a_conflict_with_the_facts(admin_user) -> None:
    parcel = Parcel.objects.create().move("lose")

    answer = post({"deliver": str(parcel.pk)}, user=admin_user)

    assert answer.status_code == 409
    assert answer.data["error"] == {
        "code": "MOVE_REFUSED",
        "message": f"parcel {parcel.pk} cannot deliver: it is LOST",
        "id": str(parcel.pk),
        "verb": "deliver",
        "state": "LOST",
    }


def test_every_bad_field_is_named_with_its_path(admin_user) -> None:
    answer = post({"parts": [{"quantity": 1}, {"quantity": 0}, {}]}, user=admin_user)

    assert answer.status_code == 400
    assert answer.data["error"]["code"] == "VALIDATION"
    assert [field["field"] for field in answer.data["error"]["fields"]] == [
        "order_id",
        "parts.1.quantity",
        "parts.2.quantity",
    ]
    assert "parts.1.quantity: Expected at least 1." in answer.data["error"]["message"]


def test_no_key_is_unauthenticated() -> None:
    answer = post({}, user=None)

    assert (answer.status_code, answer.data["error"]["code"]) == (401, "UNAUTHENTICATED")
    assert answer["WWW-Authenticate"] == "Bearer"


@pytest.mark.parametrize(
    ("body", "content_type", "status", "code"),
    [
        (b"{not json", "application/json", 400, "BAD_REQUEST"),
        (b"\xff\xfe", "application/json", 400, "BAD_REQUEST"),
        (b"a=1", "application/x-www-form-urlencoded", 415, "UNSUPPORTED_MEDIA_TYPE"),
    ],
)
def test_a_body_that_cannot_be_read_is_refused_in_json(admin_user, body, content_type, status, code) -> None:
    answer = post(body, user=admin_user, content_type=content_type)

    assert (answer.status_code, answer.data["error"]["code"]) == (status, code)


@pytest.mark.parametrize(
    "body",
    [b'{"order_id": "a", "order_id": "b"}', b'{"parts": [{"quantity": 1, "quantity": 1}]}', b'{"\\u0061": 1, "a": 2}'],
    ids=["other values", "the same value, deep inside", "spelt two ways"],
)
def test_a_duplicate_name_is_rejected(admin_user, body) -> None:
    answer = post(body, user=admin_user)

    assert (answer.status_code, answer.data["error"]["code"]) == (400, "BAD_REQUEST")
    assert "appears twice in one object" in answer.data["error"]["message"]


def test_the_same_name_in_two_objects_is_two_names(admin_user) -> None:
    answer = post(b'{"order_id": "a", "parts": [{"quantity": 0}, {"quantity": 0}]}', user=admin_user)

    assert answer.data["error"]["code"] == "VALIDATION"


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics"])
def test_a_probe_allows_only_reading(path: str) -> None:
    answer = Client().post(path)

    assert (answer.status_code, answer.json()["error"]["code"]) == (405, "METHOD_NOT_ALLOWED")
    assert answer.headers["Allow"] == "GET, HEAD"


def test_too_many_requests_get_retry_after(admin_user) -> None:
    answer = post({"throttled": True}, user=admin_user)

    assert (answer.status_code, answer.data["error"]["code"], answer["Retry-After"]) == (429, "TOO_MANY_REQUESTS", "7")


def test_a_database_that_is_down_is_unavailable_not_a_fault(admin_user, monkeypatch) -> None:
    def down(*_: object, **__: object) -> None:
        raise OperationalError("the server closed the connection")

    monkeypatch.setattr(SomeOrder, "read", down)
    answer = post({}, user=admin_user)
    monkeypatch.setattr("django.contrib.sessions.middleware.SessionMiddleware.process_request", down)
    outside = Client(raise_request_exception=False).get("/api/nothing")

    assert (answer.status_code, answer.data["error"]["code"], answer["Retry-After"]) == (503, "UNAVAILABLE", "5")
    assert (outside.status_code, outside.json()["error"]["code"]) == (503, "UNAVAILABLE")


def test_a_full_disk_of_the_database_is_named_and_not_ready_meanwhile(admin_user, monkeypatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OperationalError("could not extend file") from DiskFull("could not extend file")

    monkeypatch.setattr(outages, "_disk_full_until", float("-inf"))
    monkeypatch.setattr(SomeOrder, "read", full)
    answer = post({}, user=admin_user)
    ready = Client().get("/readyz")
    monkeypatch.setattr(outages, "_disk_full_until", 0)

    assert (answer.status_code, answer.data["error"]["code"]) == (503, "UNAVAILABLE")
    assert answer.data["error"]["message"] == "The database has no space left on its disk; nothing was changed."
    assert (ready.status_code, ready.json()["checks"]["database"]) == (503, "no space left on its disk")
    assert Client().get("/readyz").json()["checks"]["database"] == "ok"


def test_a_chunked_body_is_asked_for_its_length() -> None:
    request = RequestFactory().post("/api/oci/ack", headers={"transfer-encoding": "chunked"})
    del request.META["CONTENT_LENGTH"]

    answer = MalformedRequestMiddleware(lambda _: HttpResponse())(request)

    assert answer.status_code == 411


def test_an_unknown_route_is_answered_in_json() -> None:
    answer = Client().get("/api/nothing")

    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "NOT_FOUND")


@pytest.mark.parametrize("path", ["/admin/lock/activity/?queue=%00", "/api/oci/queue-rows?siteId=a%00b", "/a%00b"])
def test_an_address_with_a_nul_is_refused(admin_client, path: str) -> None:
    answer = admin_client.get(path)

    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "BAD_REQUEST")


def test_a_bad_host_is_answered_in_json() -> None:
    answer = Client().get("/", headers={"host": "evil.example"})

    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "BAD_REQUEST")


@pytest.mark.parametrize("parameter", ["utm_source", "format", "page_size"])
def test_an_unknown_parameter_of_a_list_is_one_line_without_an_error(admin_client, caplog, parameter: str) -> None:
    answer = admin_client.get("/admin/ociqueue/site/", {parameter: "x"})

    (line,) = [record for record in caplog.records if record.name.startswith("django")]
    assert answer.status_code == 400
    assert (line.levelname, line.exc_info) == ("WARNING", None)
    assert line.getMessage() == f"Filtering by {parameter} not allowed"


def test_an_unknown_page_of_the_console_is_a_page(admin_client) -> None:
    answer = admin_client.get("/admin/nothing/here/")

    assert answer.status_code == 404
    assert "There is nothing at /admin/nothing/here/" in answer.content.decode()


def test_a_server_error_shows_only_the_request_id(monkeypatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("secret detail")

    monkeypatch.setattr("config.web.views.generate_latest", fail)

    answer = Client(raise_request_exception=False).get("/metrics")

    assert (answer.status_code, answer.json()["error"]["code"]) == (500, "INTERNAL")
    assert "secret detail" not in answer.content.decode()
    assert answer["X-Request-ID"]


def test_every_error_page_shows_the_request_id_and_a_link_back(admin_client, monkeypatch) -> None:
    admin_client.raise_request_exception = False
    missing = admin_client.get("/admin/nothing/here/")
    forbidden = admin_client.get("/admin/lock/activity/add/")
    bad = admin_client.get("/admin/", headers={"host": "evil.example"})
    monkeypatch.setattr("kilit.console.dashboard.page.on_index", lambda *_: 1 / 0)
    failed = admin_client.get("/admin/")

    answers = {400: bad, 403: forbidden, 404: missing, 500: failed}
    for status, answer in answers.items():
        page = answer.content.decode()
        assert answer.status_code == status
        assert answer["X-Request-ID"] in page
        assert 'href="/admin/"' in page
        assert "console/console" in page  # its styles
        assert "Skip to the content" not in page  # there is nothing to skip
    assert "ZeroDivisionError" not in failed.content.decode()


def test_the_error_page_makes_no_query_when_the_database_is_down(admin_client, monkeypatch) -> None:
    asked = []

    def down(*_: object, **__: object) -> None:
        asked.append("a query")
        raise OperationalError("the server closed the connection")

    admin_client.raise_request_exception = False
    monkeypatch.setattr("django.db.backends.utils.CursorWrapper.execute", down)
    answer = admin_client.get("/admin/")

    assert (answer.status_code, answer["Retry-After"]) == (503, "5")
    assert answer["X-Request-ID"] in answer.content.decode()
    assert "The database is not responding; nothing was changed." in answer.content.decode()
    assert asked == ["a query"]  # the first, which failed; the page needs none
