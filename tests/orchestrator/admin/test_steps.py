"""Each reason for HOLD has an action of its own on the job's page, and the dashboard leads to it."""

import re
from html import unescape
from urllib.parse import urlencode

import pytest

from kilit.lock.models import Event
from kilit.problems.registry import find_problems
from kilit.sentences import english
from orchestrator.errors import Code, JobError
from orchestrator.models import Customer, Job
from orchestrator.models.job import failure
from orchestrator.workflow.runner import tick
from tests.support.cutting_jobs import LIST, held, page_of

pytestmark = pytest.mark.django_db

ADD = "Add +90 555 123 45 67 as customer and continue"
PHONE = "+905551234567"
ADD_ALL = f"{LIST}add-customers/"
ADD_ONE = f"{ADD_ALL}?{urlencode({'phone': PHONE})}"


def states(*jobs: Job) -> list[str]:
    return [Job.objects.get(pk=job.pk).status for job in jobs]


def test_an_unknown_customer_is_added_and_the_job_continues_with_one_form(make_person, floor) -> None:
    operator, job = make_person(), held(customer_snapshot_name="Ayşe Yılmaz")
    shown = page_of(operator, job)
    primary = shown.context["primary"]
    assert str(primary.title) == ADD
    assert 'value="Ayşe Yılmaz"' in shown.text
    assert shown.text.count("kilit-primary") == 1

    answer = operator.post(primary.href, {PHONE: "Ayşe Yılmaz"}, follow=True)

    customer = Customer.objects.get()
    assert (customer.phone, customer.name) == ("+905551234567", "Ayşe Yılmaz")
    assert answer.redirect_chain[-1][0] == f"{LIST}{job.pk}/change/"
    assert "Ayşe Yılmaz is a customer now. Approved 1 of 1." in answer.text
    approved = Event.objects.of(job).get(event_type="HOLD_APPROVED")
    assert (approved.actor, english(approved.message)) == ("operator:ayse", "The customer was added.")
    tick(patient=False)
    assert states(job) != ["HOLD"]


def test_all_jobs_of_the_same_unknown_customer_continue_together(make_person) -> None:
    operator = make_person()
    jobs = [held(order_id=f"S-{number}") for number in range(3)]
    stranger = held(order_id="S-9", customer_phone="0555 765 43 21")
    assert "3 jobs wait: S-0, S-1, S-2" in page_of(operator, jobs[0]).text

    answer = operator.post(ADD_ONE, {PHONE: "Ayşe"}, follow=True)

    assert "Approved 3 of 3." in answer.text
    assert "Its rows are now:" in answer.text, "the list shows what becomes of them"
    assert states(*jobs, stranger) == ["NEW", "NEW", "NEW", "HOLD"]


def test_unknown_customers_are_added_in_one_form_and_one_without_a_name_stays_unknown(make_person, admin_user) -> None:
    phones = [f"+9055512345{number:02}" for number in range(8)]
    jobs = [held(order_id=f"S-{number}", customer_phone=phones[number % 8]) for number in range(10)]
    (problem,) = [each for each in find_problems(admin_user) if each.kind == "hold"]
    assert (problem.action.label, problem.action.link) == ("Add 8 customers", ADD_ALL)
    operator = make_person()
    asked = operator.get(problem.action.link)
    assert list(asked.context["form"].fields) == phones

    answer = operator.post(ADD_ALL, {phone: f"Usta {phone[-1]}" for phone in phones[:7]}, follow=True)

    assert "Usta 0, Usta 1, Usta 2, Usta 3, Usta 4, Usta 5, Usta 6 are customers now. Approved 9 of 9." in answer.text
    assert states(*jobs) == ["HOLD" if job.customer_phone == phones[7] else "NEW" for job in jobs]
    assert Customer.objects.count() == 7


def test_a_missing_name_is_asked_for_again_and_nothing_changes(make_person) -> None:
    job = held()

    answer = make_person().post(ADD_ONE, {PHONE: " \u200b "})

    assert answer.status_code == 200
    assert "This may not be empty." in answer.text
    assert not Customer.objects.exists()
    assert states(job) == ["HOLD"]


def test_a_customer_who_was_added_meanwhile_keeps_the_name(make_person, customer) -> None:
    operator, job = make_person(), held()
    assert str(page_of(operator, job).context["primary"].title) == "Approve"

    operator.post(ADD_ONE, {PHONE: "Other"})

    assert [each.name for each in Customer.objects.all()] == [customer.name]
    assert states(job) == ["NEW"]


def test_viewers_add_no_customer(make_person) -> None:
    viewer, job = make_person(role="viewer"), held()

    assert page_of(viewer, job).context["primary"] is None
    assert viewer.post(ADD_ONE, {PHONE: "Ayşe"}).status_code == 403
    assert not Customer.objects.exists()


def test_an_operator_says_that_optiplanning_was_started(make_person) -> None:
    job = held(Code.OPERATOR_TRIGGER_REQUIRED, opti_mode="C")

    primary = page_of(make_person(), job).context["primary"]

    assert (str(primary.title), primary.is_done_at_once) == ("I have started OptiPlanning", True)
    assert primary.href == f"{LIST}act/approve/"


def test_the_dashboard_leads_to_the_form_of_an_unknown_customer(make_person, admin_user) -> None:
    jobs = [held(order_id=f"S-{number}", customer_snapshot_name="Ayşe Yılmaz") for number in range(2)]
    (problem,) = [each for each in find_problems(admin_user) if each.kind == "hold"]
    assert [(place.name, place.count) for place in problem.where] == [("Ayşe Yılmaz", 2)]
    operator = make_person()

    dashboard = unescape(operator.get("/admin/").text)
    (first_click,) = re.findall(r'href="([^"]+)">Add 1 customer<', dashboard)
    form = operator.get(first_click).context["form"]
    operator.post(first_click, {PHONE: form[PHONE].value()})

    assert states(*jobs) == ["NEW", "NEW"]


def test_several_unknown_customers_are_named_each_with_its_job(admin_user) -> None:
    jobs = [held(order_id=f"S-{number}", customer_phone=f"0555 123 45 6{number}") for number in range(6)]

    (problem,) = [each for each in find_problems(admin_user) if each.kind == "hold"]

    assert [place.name for place in problem.where] == [f"…456{number}" for number in range(5)]
    assert [place.link for place in problem.where] == [f"{LIST}{job.pk}/change/" for job in jobs[:5]]
    assert (problem.beyond, problem.link) == (1, f"{LIST}?status=HOLD&code=E_CRM_NO_MATCH")


def test_an_approval_without_a_fix_shows_that_the_jobs_are_held_again(make_person, floor) -> None:
    operator = make_person()
    jobs = [held(order_id=f"S-{number}") for number in range(2)]
    operator.post(f"{LIST}act/approve/", {"ids": ",".join(str(job.pk) for job in jobs), "reason": "again"})

    tick(patient=False)

    assert "Needs approval again: 2" in operator.get(LIST).text
    assert "Approved less than a minute ago, and held again for the same reason." in page_of(operator, jobs[0]).text


def test_a_job_that_is_held_for_another_reason_is_not_held_again(make_person) -> None:
    operator, job = make_person(), held(Code.OPERATOR_TRIGGER_REQUIRED)
    operator.post(f"{LIST}act/approve/", {"ids": str(job.pk), "from_row": "1"})

    Job.objects.filter(pk=job.pk).move("hold", **failure(JobError(Code.TRIM_RULE_MISSING, "Fix it.")))

    assert "held again for the same reason" not in page_of(operator, job).text
