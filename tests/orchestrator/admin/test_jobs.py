"""Cutting jobs in the console: what is shown, what is offered, and what clicking does."""

import re

import pytest
from django.db.models.functions import Now

from kilit.lock.models import Event
from orchestrator.errors import Code
from orchestrator.models import Customer, Job
from orchestrator.states import JOBS, JobState
from tests.support.cutting_jobs import CUTTING_JOBS, LIST, failed, held, make_job, page_of

pytestmark = pytest.mark.django_db

row_in = CUTTING_JOBS.row_in


def act(client, verb: str, *jobs: Job, **form):
    ids = ",".join(str(job.pk) for job in jobs)
    answer = client.post(f"{LIST}act/{verb}/", {"ids": ids, "reason": "because", **form}, follow=True)
    return answer.status_code, [str(message) for message in answer.context["messages"]]


def test_the_list_shows_states_codes_and_masked_phones(make_person) -> None:
    held()
    make_job(order_id="S-2002")

    shown = make_person(role="viewer").get(LIST).content.decode()

    assert "HOLD" in shown
    assert "E_CRM_NO_MATCH" in shown
    assert "S-2002" in shown
    assert "…4567" in shown
    assert "5551234567" not in shown


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({"status": "HOLD"}, ["S-1"]),
        ({"code": "E_CRM_NO_MATCH"}, ["S-1"]),
        ({"mode": "C"}, ["S-2"]),
        ({"since": "1"}, ["S-1", "S-2"]),
        ({"q": "S-2"}, ["S-2"]),
        ({"q": "0555 123 45 67"}, ["S-1", "S-2"]),
        ({"q": "nobody"}, []),
        ({"status": "NOWHERE"}, []),
    ],
)
def test_the_list_is_narrowed_by(query, found, make_person) -> None:
    held(order_id="S-1")
    make_job(order_id="S-2", opti_mode="C")

    shown = make_person(role="viewer").get(LIST, query).content.decode()

    assert sorted(set(re.findall(r">(S-\d)<", shown))) == found


@pytest.mark.parametrize("state", JobState)
def test_a_job_in_every_state_has_a_reason_a_diagram_and_the_buttons_that_apply(state, make_person) -> None:
    in_state = row_in(state)
    Job.objects.filter(pk=in_state.pk).update(payload=make_job().payload, imported_at=Now())

    answer = page_of(make_person(), in_state)

    shown = answer.text
    assert answer.context["blockers"]
    assert f"● {JOBS.labels[state]}" in shown
    addresses = {"approve": "/act/approve/", "retry": "/act/retry/", "cancel": f"/{in_state.pk}/cancel/"}
    offered = {verb for verb, address in addresses.items() if address in shown}
    assert offered == {verb for verb in ("approve", "retry", "cancel") if verb in Job.lifecycle.verbs_from(state)}


def test_the_page_shows_parts_what_to_fix_and_the_timeline(make_person) -> None:
    shown = page_of(make_person(role="viewer"), held(message="Part g1: fix it.")).text

    assert "Customer unknown" in shown
    assert "Add the customer" in shown
    assert "Part g1: fix it." in shown
    assert "MAT-01" in shown
    assert "Length mm" in shown
    assert "1205" in shown
    assert "STATE_HOLD" in shown
    assert "+905551234567" in shown


def test_viewers_see_no_action(make_person) -> None:
    viewer, job = make_person(role="viewer"), held()

    assert "act/approve/" not in page_of(viewer, job).text
    assert viewer.get(f"{LIST}{job.pk}/approve/").status_code == 403
    assert viewer.post(f"{LIST}act/approve/", {"ids": str(job.pk)}).status_code == 403
    job.refresh_from_db()
    assert job.status == "HOLD"


def test_an_approval_is_confirmed_and_clicked_twice_counts_once(make_person) -> None:
    operator, job = make_person(), held(Code.OPERATOR_TRIGGER_REQUIRED)
    asked = operator.get(f"{LIST}{job.pk}/approve/").content.decode()
    assert "Approve: 1 job?" in asked
    assert "selected" not in asked

    first = act(operator, "approve", job, from_row="1")
    second = act(operator, "approve", job, from_row="1")

    assert first == (200, ["Approved 1 of 1."])
    assert second[1][0].startswith("Approved 0 of 1; job ")
    assert "it is NEW" in second[1][0]
    events = Event.objects.of(job).filter(event_type="HOLD_APPROVED")
    assert [(event.actor, event.message) for event in events] == [("operator:ayse", "because")]


def test_a_selection_reports_which_jobs_apply_before_and_after(make_person) -> None:
    operator = make_person()
    jobs = [held(order_id="S-1"), held(order_id="S-2"), make_job(order_id="S-3")]

    asked = operator.post(LIST, {"action": "approve", "_selected_action": [str(job.pk) for job in jobs]})
    done = act(operator, "approve", *jobs)

    assert "Approve: 2 of 3 selected." in asked.content.decode()
    assert "Will not change: 1 (New)." in asked.content.decode()
    assert done == (200, ["Approved 2 of 3; not changed: 1 (New)."])


def test_a_permanent_failure_is_not_offered_for_retry(make_person) -> None:
    operator = make_person()
    job = failed(Code.XML_INVALID)

    asked = operator.get(f"{LIST}{job.pk}/retry/").content.decode()

    assert "act/retry/" not in page_of(operator, job).text
    assert "Retry: 0 of 1 selected." in asked
    assert "Will not change: 1 (Failed: Solution XML invalid)." in asked
    assert "cannot be retried" in act(operator, "retry", job)[1][0]


@pytest.mark.parametrize("ids", ["", "nonsense", "1,2,3"])
def test_a_forged_selection_is_refused(make_person, ids) -> None:
    answer = make_person().post(f"{LIST}act/cancel/", {"ids": ids}, follow=True)

    assert answer.status_code == 200
    assert "Select from 1 to 500 rows." in answer.content.decode()


def test_an_unknown_verb_and_an_unknown_job_are_not_found(make_person) -> None:
    operator = make_person()

    assert operator.post(f"{LIST}act/finish/", {"ids": str(make_job().pk)}).status_code == 404
    assert operator.get(f"{LIST}nonsense/approve/").status_code == 404
    assert operator.get(f"{LIST}{make_job().pk}/solution/1/").status_code == 404


def test_a_customer_is_shown_with_the_newest_jobs(make_person) -> None:
    customer = Customer.objects.create(phone="+905551234567", name="Ayşe")
    jobs = [make_job(order_id=f"C-{number}", customer_phone=customer.phone) for number in range(11)]
    make_job(order_id="other", customer_phone="+905551234568")

    shown = make_person(role="viewer").get(f"/admin/orchestrator/customer/{customer.pk}/change/").text

    assert [job.order_id in shown for job in jobs] == [False] + [True] * 10
    assert "other" not in re.findall(r">([^<]+)</a>", shown)
    assert "/admin/orchestrator/job/?q=%2B905551234567" in shown


def test_operators_add_customers_in_any_spelling_and_viewers_do_not(make_person) -> None:
    operator, viewer = make_person(), make_person("veli", role="viewer")

    added = operator.post("/admin/orchestrator/customer/add/", {"phone": "0555 123 45 67", "name": "Ayşe"})
    twice = operator.post("/admin/orchestrator/customer/add/", {"phone": "+905551234567", "name": "Other"})
    wrong = operator.post("/admin/orchestrator/customer/add/", {"phone": "12", "name": "Other"})

    assert added.status_code == 302
    assert "already exists" in twice.content.decode()
    assert "Not a valid phone number" in wrong.content.decode()
    assert [customer.phone for customer in Customer.objects.all()] == ["+905551234567"]
    assert viewer.get("/admin/orchestrator/customer/").status_code == 200
    assert viewer.get("/admin/orchestrator/customer/add/").status_code == 403


def test_what_papers_need_of_a_customer_is_added_checked_and_emptied_on_its_page(make_person) -> None:
    client, row = make_person(), Customer.objects.create(phone="+905551234567", name="Ayşe")
    page, form = f"/admin/orchestrator/customer/{row.pk}/change/", {"phone": row.phone, "name": row.name}

    wrong = client.post(page, form | {"tax_number": "10000000147"}).content.decode()
    client.post(page, form | {"address": "Ulus 1, Ankara", "tax_office": "Ulus", "tax_number": "10000000146"})

    assert "Not a tax number" in wrong
    row.refresh_from_db()
    assert (row.address, row.tax_office, row.tax_number) == ("Ulus 1, Ankara", "Ulus", "10000000146")
    assert "10000000146" not in client.get("/admin/orchestrator/customer/").content.decode()
    assert "10000000146" not in client.get("/admin/lock/activity/").content.decode()
    client.post(page, form | dict.fromkeys(("address", "tax_office", "tax_number"), ""))
    row.refresh_from_db()
    assert (row.address, row.tax_office, row.tax_number) == ("", "", "")


def test_the_setup_page_shows_each_check_of_the_preflight(make_person, floor, settings, tmp_path) -> None:
    settings.OPTI_TEMPLATE = tmp_path / "none.xlsx"

    shown = make_person(role="viewer").get("/admin/orchestrator/rulesversion/").content.decode()

    assert "PASS" in shown
    assert "FAIL" in shown
    assert "none.xlsx" in shown
