"""The PDF API: what is accepted and what is rejected."""

import json
from typing import Any

import pytest

from kilit.lock.models import Event
from pdfjobs.enqueue import enqueue
from pdfjobs.job_request import parse_job_request
from pdfjobs.models import PdfJob
from pdfjobs.states import ErrorCode
from tests.support.pdf_jobs import PDF, PdfApi, body, bring, new_job, some_user

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("worker_lives")]


def fields(answer: Any) -> list[str]:
    return [fault["field"] for fault in answer.json()["error"]["fields"]]


def test_a_new_job_is_201_and_the_same_again_200(api) -> None:
    first, second = api.post(), api.post()

    assert (first.status_code, second.status_code) == (201, 200)
    assert first.json() == second.json()
    assert set(first.json()) == {"job_id", "status", "created_at"}
    assert first.headers["Location"] == f"http://testserver/pdf/jobs/{first.json()['job_id']}"
    assert PdfJob.objects.count() == 1


def test_a_job_knows_its_owner_and_who_asked(api) -> None:
    api.post()

    job = PdfJob.objects.get()
    assert job.owner == api.user
    assert Event.objects.of(job).get().actor == "key:shop"


def test_fail_safe_and_timeout_make_no_other_document(api) -> None:
    first = api.post(body(options={"timeout": 20, "fail_safe": "degrade"}))

    assert api.post().json() == first.json()
    assert api.post(body(options={"landscape": True})).json()["job_id"] != first.json()["job_id"]


def test_a_priority_makes_no_other_document_and_an_existing_job_keeps_its_own(api) -> None:
    first = api.post(body(priority="urgent")).json()

    assert api.post().json() == api.post(body(priority="low")).json() == first
    assert api.get(first["job_id"]).json()["priority"] == "urgent"
    assert PdfJob.objects.get().priority == 24


def test_two_owners_have_a_job_each(api) -> None:
    other = PdfApi(some_user("other"))

    assert api.post().json()["job_id"] != other.post().json()["job_id"]


def test_the_status_answer(api) -> None:
    job = new_job(api.user)

    queued = api.get(job.pk).json()
    done = api.get(bring(job, "succeeded").pk).json()

    assert (queued["status"], queued["download_url"], queued["started_at"]) == ("queued", None, None)
    assert (done["status"], done["error_code"], done["retry_count"]) == ("succeeded", None, 0)
    assert done["download_url"] == f"http://testserver/pdf/jobs/{job.pk}/download"
    assert done["created_at"] < done["started_at"] < done["finished_at"]


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (ErrorCode.TEMPLATE_ERROR, "template or image"),
        # A caller who requests page 900 of two must not be sent to look for a broken template.
        (ErrorCode.PAGES_MISSING, "the document does not have the requested pages"),
    ],
)
def test_the_caller_sees_the_code_and_not_the_place(api, code, words) -> None:
    job = bring(new_job(api.user), "failed", code=code)

    answers = [api.get(job.pk), api.download(job.pk)]

    assert answers[0].json()["error_code"] == answers[1].json()["error"]["code"] == code
    assert "line 3" in job.error_detail
    assert not any("line" in answer.content.decode() for answer in answers)
    assert words in answers[1].json()["error"]["message"]


def test_an_unknown_template_is_named_with_what_is_allowed(api, settings) -> None:
    settings.PDF_TEMPLATES = ["offer"]

    answer = api.post(body("offer") | {"template_name": "invoice"})

    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == "TEMPLATE_ERROR"
    assert answer.json()["error"]["allowed"] == ["offer"]


def test_a_machine_without_a_browser_refuses(api, monkeypatch) -> None:
    monkeypatch.setenv("KILIT_CHROMIUM", "/nowhere/chromium")

    answer = api.post()

    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "UNSUPPORTED_PLATFORM")
    assert not PdfJob.objects.exists()


WRONG: list[tuple[dict[str, Any], list[str]]] = [
    ({"template_name": 7}, ["template_name"]),
    ({"variables": []}, ["variables"]),
    ({"variables": None}, ["variables"]),
    ({"options": []}, ["options"]),
    ({"options": {"timeout": 61}}, ["options.timeout"]),
    ({"options": {"timeout": 0}}, ["options.timeout"]),
    ({"options": {"timeout": True}}, ["options.timeout"]),
    ({"options": {"timeout": "10"}}, ["options.timeout"]),
    ({"options": {"fail_safe": "shrug"}}, ["options.fail_safe"]),
    ({"options": {"fail_safe": {}}}, ["options.fail_safe"]),
    ({"options": {"timeout": -1, "fail_safe": 1}}, ["options.timeout", "options.fail_safe"]),
    ({"options": {"papper": "A4"}}, ["options.papper"]),
    ({"surprise": 1}, ["surprise"]),
]


@pytest.mark.parametrize(("change", "named"), WRONG, ids=lambda value: json.dumps(value)[:60])
def test_what_is_wrong_is_named(api, change: dict[str, Any], named: list[str]) -> None:
    answer = api.post(body() | change)

    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "VALIDATION")
    assert fields(answer) == named
    assert not PdfJob.objects.exists()


def test_a_fault_in_the_variables_is_named_by_its_path(api) -> None:
    sent = body()
    sent["variables"] = {**sent["variables"], "lines": [{"quantity": "many"}]}

    answer = api.post(sent)

    assert answer.json()["error"]["code"] == "VALIDATION"
    assert any(name.startswith("variables.lines.0") for name in fields(answer))


@pytest.mark.parametrize(
    "text",
    ['"a\\u0000b"', '"\\ud800"', "1e999", "[" * 40 + "]" * 40, '{"a\\u0000": 1}'],
    ids=["NUL", "half a pair", "endless", "deep", "NUL in a name"],
)
def test_what_the_database_cannot_hold_is_refused_in_words(api, text: str) -> None:
    sent = f'{{"template_name": "invoice", "variables": {{"number": {text}}}}}'

    answer = api.post(sent)

    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "VALIDATION")
    assert fields(answer)[0].startswith("variables")


@pytest.mark.parametrize("sent", ["[]", "7", '"x"', "null"])
def test_a_body_that_is_no_object_is_refused(api, sent: str) -> None:
    assert (api.post(sent).status_code, api.post(sent).json()["error"]["code"]) == (400, "VALIDATION")


def test_a_body_beyond_five_megabytes_is_413(api) -> None:
    answer = api.post(json.dumps(body() | {"variables": {"number": "x" * 5 * 1024**2}}))

    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "TOO_LARGE")


@pytest.mark.parametrize(("role", "status"), [(None, 403), ("viewer", 403), ("operator", 201), ("admin", 201)])
def test_only_a_key_of_an_operator_has_documents_made(role: str | None, status: int) -> None:
    caller = PdfApi(some_user("caller", role=role))

    answer = caller.post()

    assert answer.status_code == status
    assert PdfJob.objects.exists() == (status == 201)
    if status == 403:
        assert answer.json()["error"]["code"] == "FORBIDDEN"


def test_who_lost_the_role_still_fetches_what_is_theirs() -> None:
    caller = PdfApi(some_user("caller", role=None))
    job = bring(new_job(caller.user), "succeeded")

    assert caller.get(job.pk).status_code == 200
    assert b"".join(caller.download(job.pk).streaming_content) == PDF


@pytest.mark.parametrize("job_id", ["nonsense", "0199f3a0-0000-7000-8000-000000000000", "%00"])
def test_an_unknown_job_is_404(api, job_id: str) -> None:
    assert api.get(job_id).status_code in (404, 400)
    assert api.download(job_id).json()["error"]["code"] in ("NOT_FOUND", "BAD_REQUEST")


@pytest.mark.parametrize("status", ["queued", "running", "succeeded", "failed", "expired"])
def test_another_users_job_is_404(api, status: str) -> None:
    job = bring(new_job(some_user("other")), status)

    answers = [api.get(job.pk), api.download(job.pk)]

    assert [answer.status_code for answer in answers] == [404, 404]
    assert answers[0].json()["error"] == {"code": "NOT_FOUND", "message": "There is no such job."}


def test_a_queue_at_its_limit_is_429_but_knows_what_it_has(api, settings) -> None:
    settings.PDF_QUEUE_LIMIT = 2
    first = api.post()
    new_job(api.user, number=2)

    again, other = api.post(), api.post(body(options={"landscape": True}))

    assert (again.status_code, again.json()) == (200, first.json())
    assert (other.status_code, other.json()["error"]["code"]) == (429, "QUEUE_FULL")
    assert int(other.headers["Retry-After"]) > 0
    assert PdfJob.objects.count() == 2


def test_one_owner_does_not_fill_the_queue_of_the_others(api, settings) -> None:
    settings.PDF_QUEUE_LIMIT, settings.PDF_QUEUE_LIMIT_PER_OWNER = 4, 2
    first = api.post()
    new_job(api.user, number=2)
    other = some_user("other")

    again, refused = api.post(), api.post(body(options={"landscape": True}))
    new_job(other)

    assert (again.status_code, again.json()) == (200, first.json())
    assert (refused.status_code, refused.json()["error"]["code"]) == (429, "QUEUE_FULL")
    assert refused.json()["error"]["message"] == "2 of your jobs are waiting, as many as may; try again later."
    assert int(refused.headers["Retry-After"]) > 0
    assert enqueue(other, parse_job_request(body(options={"landscape": True})))[1], "others have room"


def test_whatever_is_accepted_a_refusal_can_be_read(api) -> None:
    assert api.post(accept="text/html").status_code == 201
    assert api.download("nonsense", accept="application/pdf").status_code == 404


def test_the_templates_tell_their_variables_and_a_sample_that_is_taken(api, settings) -> None:
    templates = api.client.get("/pdf/templates", headers=api.headers).json()["templates"]

    assert [template["name"] for template in templates] == settings.PDF_TEMPLATES
    paths = {variable["path"]: variable for variable in templates[0]["variables"]}
    assert paths["lines.*.quantity"]["required"]
    assert paths["buyer.name"]["allowed"].startswith("a text")
    for template in templates:
        assert api.post({"template_name": template["name"], "variables": template["sample"]}).status_code == 201
