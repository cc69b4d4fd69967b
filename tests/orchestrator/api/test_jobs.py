"""The API of cutting jobs: what is refused, and how."""

import json
from unittest.mock import patch
from uuid import uuid4

import pytest

from kilit.lock.models import Event
from kilit.lock.models import event as event_model
from orchestrator.errors import Code, JobError
from orchestrator.models import Job
from orchestrator.models.job import failure
from tests.support.api import Api
from tests.support.cutting_jobs import ARKALIK, GOVDE, error, make_job, order_body, page_of

pytestmark = pytest.mark.django_db


def test_an_order_becomes_a_job(api) -> None:
    answer = api.post("jobs", order_body())

    assert answer.status_code == 201
    body = answer.json()
    assert body["deduplicated"] is False
    assert (body["job"]["state"], body["job"]["part_count"], body["job"]["opti_mode"]) == ("NEW", 2, "A")
    event = Event.objects.get(object_id=body["job"]["id"])
    assert (event.event_type, event.actor) == ("JOB_CREATED", "key:service-operator")


RESPELT = {
    "customer_phone": "+90 (555) 123-45-67",
    **dict.fromkeys(("customer_snapshot_name", "plate_size", "revision")),
    "parts": [GOVDE | {"thickness_mm": 18.0, "iidesc": None}, ARKALIK | {"edge_lo": None, "delik_kodu": None}],
}


@pytest.mark.parametrize("changes", [{}, RESPELT], ids=["the very same", "spelt in another way"])
def test_the_same_order_is_the_same_job(api, changes) -> None:
    first = api.post("jobs", order_body()).json()["job"]

    answer = api.post("jobs", order_body(**changes))

    assert answer.status_code == 200
    assert answer.json()["deduplicated"] is True
    assert answer.json()["job"]["id"] == first["id"]
    assert [event.event_type for event in Event.objects.of(Job.objects.get())] == ["JOB_CREATED", "JOB_DEDUP"]


def test_a_priority_is_stored_beside_the_order(api) -> None:
    urgent = api.post("jobs", order_body(priority="urgent")).json()["job"]
    again = api.post("jobs", order_body()).json()["job"]
    refused = api.post("jobs", order_body(order_id="S-2", priority="now"))

    assert (urgent["priority"], again["priority"], again["id"]) == ("urgent", "urgent", urgent["id"])
    assert "priority" not in Job.objects.get().payload
    assert error(refused)["code"] == "E_VALIDATION"


def test_a_revision_makes_a_new_job_on_purpose(api) -> None:
    first = api.post("jobs", order_body()).json()["job"]

    answer = api.post("jobs", order_body(revision=1))

    assert answer.status_code == 201
    assert answer.json()["job"]["id"] != first["id"]
    assert answer.json()["job"]["payload_hash"] != first["payload_hash"]


def test_of_many_equal_requests_at_once_one_makes_the_job(transactional_db, make_api, in_threads) -> None:
    """The unique index decides, not a look before."""
    key = make_api().headers["x-api-key"]

    answers = in_threads(lambda _: Api(key, root="/").post("jobs", order_body()).status_code, count=8)

    assert sorted(answers) == [200] * 7 + [201]
    assert Job.objects.count() == 1
    assert Event.objects.filter(event_type="JOB_DEDUP").count() == 7


def test_every_error_is_listed_with_its_place(api) -> None:
    answer = api.post("jobs", order_body(order_id="", parts=[GOVDE | {"quantity": True}, ARKALIK, ARKALIK]))

    assert answer.status_code == 422
    assert error(answer)["code"] == "E_VALIDATION"
    places = [fault.partition(": ")[0] for fault in error(answer)["faults"]]
    assert places == ["order_id", "parts.0.quantity", "parts.2.id"]
    assert "parts.0.quantity: " in error(answer)["message"]
    assert not Job.objects.exists()


@pytest.mark.parametrize("body", [[], "order", 7, None, {}])
def test_what_is_no_order_is_rejected_with_a_message(api, body) -> None:
    answer = api.client.post("/jobs", json.dumps(body), content_type="application/json", headers=api.headers)

    assert answer.status_code == 422
    assert error(answer)["code"] == "E_VALIDATION"


def test_not_a_number_is_refused(api) -> None:
    text = json.dumps(order_body()).replace("120.5", "NaN")

    answer = api.client.post("/jobs", text, content_type="application/json", headers=api.headers)

    assert answer.status_code == 400
    assert "NaN" in error(answer)["message"]


@pytest.mark.parametrize("number", ["1e99999999999999999999", "1e-99999999999999999999", "-1e999", "9" * 5000])
def test_a_number_of_any_size_costs_only_its_field(api, number) -> None:
    text = json.dumps(order_body()).replace("120.5", number)

    answer = api.client.post("/jobs", text, content_type="application/json", headers=api.headers)

    assert answer.status_code == 422
    assert error(answer)["faults"] == ["parts.0.length_cm: Expected a size above 0, up to 500 cm."]


def test_five_thousand_parts_are_taken_and_one_more_is_not(api) -> None:
    parts = [GOVDE | {"id": f"p{number}"} for number in range(5001)]

    assert api.post("jobs", order_body(parts=parts)).status_code == 422
    assert api.post("jobs", order_body(parts=parts[:5000])).status_code == 201


def test_more_than_five_megabytes_are_refused(api) -> None:
    answer = api.post("jobs", order_body(customer_snapshot_name="x" * 5 * 1024**2))

    assert answer.status_code == 413


def test_a_list_is_paged_by_cursor_and_narrowed(api) -> None:
    jobs = [make_job(order_id=f"S-{number % 2}", revision=number) for number in range(5)]
    Job.objects.filter(pk=jobs[0].pk).cancel(message="no")

    first = api.get("jobs", limit=2).json()
    second = api.get("jobs", limit=2, cursor=first["next_cursor"]).json()
    third = api.get("jobs", limit=2, cursor=second["next_cursor"]).json()

    seen = [job["id"] for page in (first, second, third) for job in page["jobs"]]
    assert seen == [str(job.pk) for job in reversed(jobs)]
    assert "next_cursor" not in third
    assert {job["order_id"] for job in api.get("jobs", order_id="S-1").json()["jobs"]} == {"S-1"}
    assert [job["id"] for job in api.get("jobs", state="FAILED").json()["jobs"]] == [str(jobs[0].pk)]


@pytest.mark.parametrize("query", [{"state": "GONE"}, {"limit": 0}, {"limit": 201}, {"cursor": "!"}, {"cursor": "abc"}])
def test_a_list_asked_for_wrongly_is_refused(api, query) -> None:
    answer = api.get("jobs", **query)

    assert answer.status_code == 400
    assert error(answer)["fields"][0]["field"] in query


def test_a_job_is_shown_with_its_audit_and_its_order(api) -> None:
    job = make_job()

    body = api.get(f"jobs/{job.pk}").json()["job"]

    assert [event["event_type"] for event in body["audit"]] == ["JOB_CREATED"]
    assert set(body["audit"][0]) >= {"id", "actor", "message", "details", "created_at"}
    assert [event["job_id"] for event in body["audit"]] == [body["id"]], "as the source document has it"
    assert body["payload"]["parts"][0]["id"] == "g1"


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", ""), ("GET", "/xml"), ("POST", "/retry"), ("POST", "/approve"), ("POST", "/cancel")],
)
@pytest.mark.parametrize("pk", [uuid4(), "nonsense"])
def test_an_unknown_job_is_not_found(api, pk, method, path) -> None:
    answer = api(method, f"jobs/{pk}{path}", {} if method == "POST" else None)

    assert answer.status_code == 404
    assert error(answer)["code"] == "E_JOB_NOT_FOUND"


def test_a_job_without_a_solution_has_no_xml(api) -> None:
    answer = api.get(f"jobs/{make_job().pk}/xml")

    assert answer.status_code == 409
    assert error(answer)["state"] == "NEW"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("plan.xml", 'filename="plan.xml"'),
        ('a"; x="b.xml', r'filename="a\"; x=\"b.xml"'),
        ("a\r\nSet-Cookie: b.xml", 'filename="a__Set-Cookie: b.xml"'),
        ("Gümüş\n.xml", "filename*=utf-8''G%C3%BCm%C3%BC%C5%9F_.xml"),
    ],
)
def test_a_solution_is_answered_whatever_its_name(api, name: str, expected: str) -> None:
    job = make_job()
    Job.objects.update(xml_sha256="0" * 64)
    job.solution_files.create(name=name, content=b"<a/>", sha256="0" * 64)

    answer = api.get(f"jobs/{job.pk}/xml")

    assert (answer.status_code, answer.content) == (200, b"<a/>")
    assert answer["Content-Disposition"] == f"attachment; {expected}"


def test_viewers_look_and_do_not_act(make_api) -> None:
    viewer, job = make_api("viewer"), make_job()

    assert viewer.get("jobs").status_code == 200
    assert viewer.get(f"jobs/{job.pk}").status_code == 200
    assert viewer.get("customers/lookup", phone="5551234567").status_code == 404
    assert viewer.post("jobs", order_body()).status_code == 403
    assert viewer.post("customers", {"phone": "5551234567", "name": "A"}).status_code == 403
    for verb in ("retry", "approve", "cancel"):
        assert viewer.post(f"jobs/{job.pk}/{verb}").status_code == 403


def test_a_service_without_a_role_sees_nothing(make_api) -> None:
    stranger = make_api(None)

    assert stranger.get("jobs").status_code == 403
    assert stranger.get(f"jobs/{make_job().pk}").status_code == 403


def test_without_a_key_the_answer_is_401() -> None:
    for answer in (
        Api(root="/").get("jobs"),
        Api(root="/").post("jobs", order_body()),
        Api("kilit_wrong", root="/").get("jobs"),
    ):
        assert answer.status_code == 401
        assert error(answer)["code"] == "UNAUTHENTICATED"


def test_a_person_may_use_the_session_of_the_console(make_person) -> None:
    assert make_person(role="viewer").get("/jobs").status_code == 200


def test_a_cursor_never_skips_a_job_that_came_meanwhile(api) -> None:
    old = [make_job(revision=number) for number in range(3)]
    first = api.get("jobs", limit=2).json()

    make_job(revision=9)

    rest = api.get("jobs", limit=2, cursor=first["next_cursor"]).json()
    assert [job["id"] for job in rest["jobs"]] == [str(old[0].pk)]


def test_an_error_is_reported_with_code_and_message(api) -> None:
    job = make_job()
    job.move("hold", **failure(JobError(Code.CRM_NO_MATCH, "No customer.")))

    body = api.get(f"jobs/{job.pk}").json()["job"]

    assert (body["state"], body["error_code"], body["error_message"]) == ("HOLD", "E_CRM_NO_MATCH", "No customer.")


def test_the_audit_of_very_many_events_lists_the_newest(api) -> None:
    job = make_job()
    with patch.object(event_model, "LONGEST_HISTORY", 5):
        for number in range(9):
            Event.objects.record(job, "JOB_DEDUP", message=str(number))
        audit = api.get(f"jobs/{job.pk}").json()["job"]["audit"]

    assert [event["message"] for event in audit][1:] == ["5", "6", "7", "8"]
    assert audit[0]["event_type"] == "JOB_CREATED"


def test_the_faults_of_an_order_are_capped_and_known_fields_listed_once(api) -> None:
    parts = [GOVDE | {"id": str(number), "colour": "Beyaz"} for number in range(150)]

    answer = api.post("jobs", order_body(parts=parts))

    assert answer.status_code == 422
    body = answer.json()["error"]
    assert (len(body["faults"]), body["faults_beyond"]) == (100, 50)
    assert body["faults"][0].startswith("parts.0.colour: Unknown field. Known fields: id, part_type")
    assert body["faults"][1] == "parts.1.colour: Unknown field."


def test_more_pieces_than_mode_d_plans_are_refused_when_they_are_sent(api) -> None:
    parts = [{**GOVDE, "id": f"p{number}", "quantity": 9_999} for number in range(3)]

    refused = api.post("jobs", order_body(opti_mode="D", parts=parts))

    assert refused.status_code == 422
    assert "29997 pieces; the built-in optimiser plans at most 20000" in error(refused)["message"]
    assert api.post("jobs", order_body(opti_mode="C", parts=parts)).status_code == 201


def test_a_page_shows_sizes_in_millimetres_however_they_came(make_person) -> None:
    viewer = make_person(role="viewer")
    viewer.cookies["django_language"] = "tr"

    shown = page_of(viewer, make_job(parts=[{**GOVDE, "length_cm": 72, "width_cm": 56.05}]))

    assert {"720", "560,5"} <= set(shown.context["part_rows"][0][1])
