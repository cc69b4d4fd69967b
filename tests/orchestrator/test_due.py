"""Due dates: from orders of any kind to the day's list, papers and the problem of what is late."""

from datetime import date, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.utils import timezone

from config.papers.content import PaperRequest, cutting_sheet
from kilit.lock.models import Activity, Event
from kilit.problems.registry import find_problems
from orchestrator.admin.calendar import weeks
from orchestrator.admin.days import groups
from orchestrator.due import change_due, late_jobs, open_jobs, perhaps_late_jobs
from orchestrator.models import Job
from orchestrator.orders.order import order_from
from orchestrator.planning.rules import current_rules
from orchestrator.schemas.orders import day
from tests.support.cutting_jobs import GOVDE, LIST, failed, make_job, page_of
from tests.support.cutting_rules import text_with
from tests.support.drafts import page_of as draft_page
from tests.support.drafts import posted
from tests.support.order_sheets import faults, read, xlsx

pytestmark = pytest.mark.django_db
DAYS = f"{LIST}days/"
HEADINGS = ["Adet", "Malzeme", "Boy (mm)", "En (mm)", "Renk", "Kalınlık"]
PARTS = [HEADINGS, [2, "M1", 720, 560, "Beyaz", 18]]


def due_in(days: int) -> str:
    return (timezone.localdate() + timedelta(days=days)).isoformat()


@pytest.mark.parametrize("text", ["2026-11-30", "30.11.2026", date(2026, 11, 30)])
def test_a_day_is_read_as_programs_and_as_people_write_it(text) -> None:
    assert day(text) == date(2026, 11, 30)


@pytest.mark.parametrize(
    "text", ["", "30.11.26", "11/30/2026", "2026-11-31", "0226-11-30", 20261130, None, "٣٠.١١.٢٠٢٦"]
)
def test_what_is_no_day_is_refused(text) -> None:
    with pytest.raises(ValueError, match="Expected a day"):
        day(text)


def test_the_due_date_is_not_part_of_the_order() -> None:
    job = make_job(due_on="2026-11-30")

    assert make_job(due_on="2026-12-01") == make_job() == job
    assert Job.objects.get().due_on == date(2026, 11, 30)
    assert "due_on" not in job.payload


def test_an_order_by_rest_has_a_due_date(make_api) -> None:
    api = make_api()
    body = {"order_id": "S-1", "customer_phone": "0555 123 45 67", "parts": [GOVDE]}

    stored = api.post("jobs", {**body, "due_on": "2026-11-30"})
    refused = api.post("jobs", {**body, "order_id": "S-2", "due_on": "tomorrow"})

    assert stored.json()["job"]["due_on"] == "2026-11-30"
    assert refused.json()["error"]["faults"] == ["due_on: Expected a day, as in 2026-11-30."]


@pytest.mark.parametrize(
    "cell",
    ["Termin: 30.11.2026", ["Teslim tarihi", "2026-11-30"], ["Due date", datetime(2026, 11, 30)]],  # noqa: DTZ001
)
def test_a_sheet_says_when_its_order_is_due(cell) -> None:
    found = read(xlsx([cell] if isinstance(cell, str) else cell, [], *PARTS))

    assert found.faults == []
    assert found.order["due_on"] == "2026-11-30"


def test_a_day_that_cannot_be_read_is_a_fault_of_its_cell() -> None:
    found = read(xlsx(["Termin", "gelecek hafta"], [], *PARTS))

    assert faults(found) == {"B1": "Expected a day, as in 2026-11-30."}


@pytest.mark.parametrize(("days", "is_past"), [(-1, True), (0, False)])
def test_the_check_says_that_a_due_date_is_past(make_person, customer, days, is_past) -> None:
    page = draft_page("0192e4a0-7c1e-7d2a-9b3c-4d5e6f708192")

    checked = make_person().post(page, posted(action="check", due_on=due_in(days)), follow=True).text

    assert "Ready to send" in checked
    assert (f"The due date is past: {due_in(days)}." in checked) == is_past


def test_an_order_is_typed_with_a_due_date_and_it_is_changed_on_its_page(make_person, customer) -> None:
    operator = make_person()
    operator.post(draft_page("0192e4a0-7c1e-7d2a-9b3c-4d5e6f708192"), posted(action="send", due_on=due_in(3)))
    job = Job.objects.get()
    page = f"{LIST}{job.pk}/due/"
    assert "Change the due date" in page_of(operator, job).text

    changed = operator.post(page, {"due_on": due_in(5)}, follow=True)
    again = operator.post(page, {"due_on": due_in(5)}, follow=True)
    refused = operator.post(page, {"due_on": "soon"})

    job.refresh_from_db()
    assert job.due_on == date.fromisoformat(due_in(5))
    assert "The due date was changed." in changed.text
    assert f"{due_in(3)} → {due_in(5)}" in changed.text
    assert "Nothing was changed" in again.text
    assert "Enter a valid date." in refused.text
    assert Event.objects.of(job).get(event_type="DUE_CHANGED").details == {"before": due_in(3), "after": due_in(5)}
    assert Activity.objects.get(verb="DUE_CHANGED").person == "ayse"
    assert make_person("veli", role="viewer").get(page).status_code == 403


def test_the_due_date_of_a_job_that_is_over_stays() -> None:
    job = failed(due_on=due_in(1))

    assert not change_due(job, None)
    assert job.due_on


def made(*days: int | None) -> list[Any]:
    today = date(2026, 11, 19)  # a Thursday
    solved = {
        "xml_sha256": "",
        "seconds": None,
        "status": "NEW",
        "priority": 0,
        "by_hand": False,
        "is_with_people": False,
    }
    due = [None if each is None else today + timedelta(days=each) for each in days]
    return [SimpleNamespace(due_on=each, lease_until=None, **solved) for each in due]


def test_orders_are_grouped_by_day_and_a_week_ends_on_sunday() -> None:
    jobs = made(-9, -1, 0, 1, 2, 3, 4, 90, None)

    found = {str(group.title): len(group.rows) for group in groups(jobs, today=date(2026, 11, 19))}

    assert found == {"Late": 2, "Today": 1, "Tomorrow": 1, "This week": 2, "Later": 2, "Without a due date": 1}


def test_the_days_list_has_the_hours_of_cutting_by_the_solutions(make_person, customer) -> None:
    for name, days, solution in (("S-1", 0, "5400"), ("S-2", 0, None), ("S-3", None, "60")):
        job = make_job(order_id=name, due_on=due_in(days) if days is not None else None)
        solved = {"solution": {"time_s": solution}, "xml_sha256": "0" * 64} if solution else {}
        Job.objects.filter(pk=job.pk).update(**solved)

    page = make_person(role="viewer").get(DAYS)

    today, undated = page.context["groups"]
    assert (today.sum.replace("\xa0", " "), today.unplanned) == ("1 hour, 30 minutes", 1)
    assert [row["job"].order_id for row in undated.rows] == ["S-3"]
    assert "1 order is not planned yet." in page.text


def test_the_calendar_has_three_weeks_with_orders_hours_and_what_is_late(customer, make_person) -> None:
    today = date(2026, 11, 19)  # a Thursday
    for name, on, seconds in (
        ("S-1", 17, ""),
        ("S-2", 20, "5400"),
        ("S-3", 20, "3600"),
        ("S-4", 20, ""),
        ("S-5", 2, ""),
    ):
        job = make_job(order_id=name, due_on=f"2026-11-{on:02}")
        solved = {"solution": {"time_s": seconds}, "xml_sha256": "0" * 64} if seconds else {}
        Job.objects.filter(pk=job.pk).update(**solved)

    first, *others = weeks({date(2026, 11, 20)}, today=today)

    assert [[day.day.day for day in (week[0], week[-1])] for week in (first, *others)] == [[16, 22], [23, 29], [30, 6]]
    assert [(day.orders, day.hours, day.is_late, day.is_listed) for day in first[1:5]] == [
        (1, "", True, False),
        (0, "", False, False),
        (0, "", False, False),
        (3, "2.5 h", False, True),
    ]
    assert [day.is_today for day in first] == [number == 3 for number in range(7)]
    assert not any(day.orders for week in others for day in week)


def test_a_day_of_the_calendar_leads_to_its_orders(customer, make_person) -> None:
    assert weeks((), today=timezone.localdate()) == []
    for number in range(2):
        make_job(order_id=f"S-{number}", due_on=due_in(0))

    page = make_person(role="viewer").get(DAYS).text

    assert f'href="#due-{due_in(0)}"' in page
    assert page.count(f'id="due-{due_in(0)}"') == 1
    assert "2 orders" in page


def test_without_due_dates_nothing_is_shown_of_them(make_person, admin_user) -> None:
    operator, job = make_person(), make_job()

    assert "By due date" not in operator.get(LIST).text
    assert "due date" not in page_of(operator, job).text.lower()

    Job.objects.update(due_on=due_in(0))

    assert "By due date" in operator.get(LIST).text
    assert "due today" in operator.get(LIST).text


def test_the_days_list_says_how_long_each_saw_cuts(make_person, rules_file) -> None:
    rules_file.write_text(text_with(saws=[{"name": "Saw 1"}, {"name": "Old saw", "byHand": True}]))
    for name, saw, seconds in (("S-1", "Saw 1", "5400"), ("S-2", "Old saw", "60"), ("S-3", "Saw 1", "3600")):
        job = make_job(order_id=name, due_on=due_in(0), saw=saw)
        Job.objects.filter(pk=job.pk).update(solution={"time_s": seconds}, xml_sha256="0" * 64)

    shown = " ".join(make_person().get(DAYS).text.split())

    assert "Old saw: 1 minute ·" in shown
    assert "Saw 1: 2 hours" in shown
    assert '<td data-label="Saw" data-stored>Old saw</td>' in shown


def test_late_orders_are_a_problem_until_they_are_over(admin_user, admin_client) -> None:
    jobs = [make_job(order_id=f"S-{number}", due_on=due_in(-number)) for number in range(4)]

    (problem,) = [each for each in find_problems(admin_user) if each.kind == "late-orders"]

    assert (problem.title, problem.link) == ("3 orders are late", DAYS)
    assert [place.name for place in problem.where] == ["S-3", "S-2", "S-1"]
    assert list(late_jobs()) == jobs[:0:-1]
    assert set(late_jobs()) <= set(perhaps_late_jobs())
    assert "late: " in admin_client.get(LIST).text
    Job.objects.move("fail", error_code="E_CANCELLED", error_message="no")
    assert not [each for each in find_problems(admin_user) if each.kind == "late-orders"]
    assert list(open_jobs()) == []


def test_the_cutting_sheet_says_when_the_order_is_due(customer) -> None:
    job = make_job(due_on="2026-11-30")

    sheet = cutting_sheet(job, order_from(job.payload), current_rules(), PaperRequest())

    assert sheet["due_on"] == "2026-11-30"
