"""An order with the same parts, or from the same sheet, under another name: it is accepted, and the answer says so."""

import pytest

from kilit.lock.identity import uuid7
from orchestrator.models import Job
from orchestrator.workflow import decisions
from tests.support.cutting_jobs import ARKALIK, GOVDE, order_body
from tests.support.drafts import ROW, page_of, posted
from tests.support.order_sheets import send

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    "changes",
    [
        {"order_id": "S-2"},
        {"order_id": "S-2", "customer_phone": "0532 000 00 00"},
        {"order_id": "S-2", "parts": [ARKALIK | {"id": "x"}, GOVDE | {"id": "y"}]},
        {"opti_mode": "B", "plate_size": {"width_mm": 1830, "height_mm": 3660}},
        {"opti_mode": "D"},
        {"parts": [GOVDE, ARKALIK | {"quantity": 2}]},
    ],
    ids=["another name", "another customer", "other ids in another order", "another plate", "another mode", "changed"],
)
def test_an_order_with_the_same_parts_is_accepted_and_names_the_other(api, changes) -> None:
    first = api.post("jobs", order_body()).json()
    assert first["similar_to"] == []

    answer = api.post("jobs", order_body(**changes))

    assert (answer.status_code, Job.objects.count()) == (201, 2)
    job = first["job"]
    assert answer.json()["similar_to"] == [
        {"job_id": job["id"], "order_id": job["order_id"], "created_at": job["created_at"]}
    ]


def test_the_same_order_another_revision_and_other_parts_are_not_similar(api) -> None:
    api.post("jobs", order_body())

    answers = [
        api.post("jobs", order_body()),
        api.post("jobs", order_body(revision=1)),
        api.post("jobs", order_body(order_id="S-3", parts=[GOVDE])),
        api.post("jobs", order_body(order_id="S-3", parts=[ARKALIK], customer_phone="0532 000 00 00")),
        api.post("jobs", {name: value for name, value in order_body().items() if name != "opti_mode"}),
    ]

    assert [answer.json()["similar_to"] for answer in answers] == [[], [], [], [], []]
    assert Job.objects.count() == 4


def test_a_changed_list_of_the_same_revision_is_named(api) -> None:
    api.post("jobs", order_body())
    second = api.post("jobs", order_body(revision=1)).json()["job"]

    changed = api.post("jobs", order_body(revision=1, parts=[GOVDE])).json()

    assert [job["job_id"] for job in changed["similar_to"]] == [second["id"]]


def test_a_chain_of_modes_names_each_job_before(api) -> None:
    answers = [api.post("jobs", order_body(opti_mode=mode)).json() for mode in "DCAD"]

    jobs = [answer["job"]["id"] for answer in answers]
    named = [[job["job_id"] for job in answer["similar_to"]] for answer in answers]
    assert named == [[], [jobs[0]], [jobs[1], jobs[0]], []]
    assert jobs[3] == jobs[0]


def test_a_cancelled_job_is_not_named(api) -> None:
    first = api.post("jobs", order_body()).json()["job"]
    decisions.cancel(Job.objects.get(pk=first["id"]).pk)

    assert api.post("jobs", order_body(order_id="S-2")).json()["similar_to"] == []


def test_the_same_file_under_another_name_is_named_before_and_after_it_is_stored(api) -> None:
    first = send(api, name="mutfak-12.xlsx").json()["job"]

    preview = send(api, name="mutfak-12 (1).xlsx", dry_run="true").json()
    other_colour = send(api, name="mutfak-13.xlsx", material_code="MAT-02", dry_run="true").json()
    stored = send(api, name="mutfak-12 (1).xlsx").json()

    assert [job["job_id"] for job in preview["similar_to"]] == [first["id"]]
    assert [job["job_id"] for job in other_colour["similar_to"]] == [first["id"]]  # by the file alone
    assert [job["order_id"] for job in stored["similar_to"]] == ["mutfak-12"]
    assert stored["job"]["order_id"] == "mutfak-12 (1)"


def test_the_page_of_an_imported_list_has_its_millimetres(api, make_person) -> None:
    job = send(api, name="mutfak-12.xlsx").json()["job"]

    page = make_person().get(f"/admin/orchestrator/job/{job['id']}/change/")

    shown = dict(zip(page.context["part_columns"], page.context["part_rows"][0][1], strict=True))
    assert (shown["Length mm"], shown["Width mm"]) == ("720", "560")


@pytest.mark.parametrize("changes", [{"order_id": "S-2"}, {"opti_mode": "D"}])
def test_the_console_asks_before_it_sends_the_same_parts_again(make_person, changes) -> None:
    operator, pk = make_person(), uuid7()
    operator.post(page_of(uuid7()), posted(ROW, action="send"))
    form = posted(ROW, action="send", **changes)

    asked = operator.post(page_of(pk), form, follow=True)

    assert Job.objects.count() == 1
    assert "Not sent yet: a job has the same parts" in asked.text
    assert "S-1001 of" in asked.text
    assert 'name="similar_checked"' in asked.text
    operator.post(page_of(pk), {**form, "similar_checked": "1"})
    assert Job.objects.count() == 2


def test_the_console_does_not_ask_about_an_order_that_exists_already(make_person) -> None:
    operator = make_person()
    operator.post(page_of(uuid7()), posted(ROW, action="send"))

    answer = operator.post(page_of(uuid7()), posted(ROW, action="send"), follow=True)

    assert "This order exists already." in answer.text
