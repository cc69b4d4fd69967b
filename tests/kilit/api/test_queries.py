"""What is read from a query or a body is what was meant, or it is refused."""

from contextlib import closing

import pytest
from pydantic import BaseModel

from config import urls  # noqa: F401 - every view, and so every message
from kilit.api.input_model import InputModel, InvalidInput
from kilit.lock.text import read_digits
from kilit.sites.models import is_time_zone
from orchestrator.models import Job
from tests.support.cutting_jobs import make_job

NOT_WRITTEN_SO = ["1_0", "٣", "+3", "3.0", " 3", "0x3", ""]


def queries() -> list[type[InputModel]]:
    def below(model: type[BaseModel]) -> list[type[BaseModel]]:
        return [model, *(each for child in model.__subclasses__() for each in below(child))]

    return [each for each in below(InputModel) if each.__name__.endswith("Query") and issubclass(each, InputModel)]


NUMBERS = [
    (query, name) for query in queries() for name, field in query.model_fields.items() if field.annotation is int
]


def test_lists_have_a_limit() -> None:
    assert {query.__name__ for query, _ in NUMBERS} >= {"ExportQuery", "RowsQuery", "CuttingJobsQuery", "PdfJobsQuery"}


@pytest.mark.parametrize(("query", "name"), NUMBERS, ids=str)
@pytest.mark.parametrize("text", NOT_WRITTEN_SO)
def test_a_number_in_a_query_has_ascii_digits_only(query: type[InputModel], name: str, text: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        query.read({"siteId": "a" * 32, name: text})

    assert {"field": name, "message": "Expected a whole number."} in refused.value.errors
    assert read_digits(text) is None


@pytest.mark.parametrize(
    ("name", "is_one"), [("Europe/Istanbul", True), ("UTC", True), ("localtime", False), ("Factory", False)]
)
def test_a_time_zone_is_one_of_a_place(name: str, is_one: bool) -> None:
    assert is_time_zone(name) is is_one


@pytest.mark.parametrize(("text", "number"), [("3", 3), ("007", 7), ("-3", None), ("9" * 30, None)])
def test_pages_of_the_console_read_digits(text: str, number: int | None) -> None:
    assert read_digits(text) == number


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/jobs?state=", "/jobs?limit=", "/pdf/jobs?status=", "/api/outbox/messages?status="])
def test_an_empty_filter_is_refused_and_not_taken_for_none(make_api, path: str) -> None:
    api = make_api("admin")
    answer = api.client.get(path, headers=api.headers)

    assert answer.status_code == 400
    assert answer.json()["error"]["fields"][0]["field"] in path


@pytest.mark.django_db
def test_no_answer_of_the_api_is_kept_by_a_cache(api) -> None:
    addresses = ["/jobs", "/pdf/jobs", "/healthz", "/no-such-address", "/api/schema/", "/jobs?limit=0"]
    answers = [api.client.get(address, headers=api.headers) for address in addresses]
    answers += [api.client.get("/jobs"), api.client.post("/jobs", b"{", "application/json", headers=api.headers)]

    assert all("no-store" in answer.headers["Cache-Control"] for answer in answers)
    with closing(api.client.get("/static/admin/css/base.css")) as file:
        assert "no-store" not in file.headers.get("Cache-Control", "")


@pytest.mark.django_db
@pytest.mark.parametrize(("verb", "body"), [("approve", "false"), ("approve", "0"), ("retry", "[]"), ("retry", '""')])
def test_a_decision_takes_an_object_or_nothing(api, verb: str, body: str) -> None:
    job = make_job()
    answer = api.client.post(f"/jobs/{job.pk}/{verb}", body, content_type="application/json", headers=api.headers)

    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "VALIDATION")
    assert Job.objects.get(pk=job.pk).status == job.status
