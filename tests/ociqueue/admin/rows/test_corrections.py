"""Correct and resend in the console: on a row's page, and by the file of failed rows."""

import csv
from io import StringIO

import pytest
from django.contrib.auth.models import User
from django.test import Client

from kilit.lock.models import Activity, Event
from kilit.problems.registry import find_problems
from ociqueue.models import Conversion
from tests.support.conversions import make_failed
from tests.support.imports import confirm, upload

pytestmark = pytest.mark.django_db

LIST = "/admin/ociqueue/conversion/"


def address(row: Conversion, page: str = "correct") -> str:
    return f"{LIST}{row.pk}/{page}/"


def form_of(client: Client, row: Conversion) -> dict[str, str]:
    form = client.get(address(row)).context["form"]
    return {name: form[name].value() or "" for name in form.fields}


def test_the_form_begins_with_the_rows_values_and_leads_to_the_copy(operator, site) -> None:
    (row,) = make_failed(site, gclid="broken", value="10.5", source_key="order-1")
    given = form_of(operator, row)

    answer = operator.post(address(row), given | {"click_id": "Cj0KCQ-right", "reason": "a typo"}, follow=True)

    assert (given["kind"], given["click_id"], given["conversionValue"]) == ("gclid", "broken", "10.50")
    copy = Conversion.objects.get(replaces=row)
    assert answer.redirect_chain == [(address(copy, "change"), 302)]
    assert (copy.gclid, copy.value, copy.conversion_time) == ("Cj0KCQ-right", row.value, row.conversion_time)
    recorded = [(event.actor, event.message) for event in Event.objects.filter(event_type__in=["REPLACED", "REPLACES"])]
    assert recorded == [("operator:ayse", "a typo")] * 2
    (activity,) = Activity.objects.filter(queue="conversion")
    assert (activity.verb, activity.person, activity.object_id) == ("REPLACED", "ayse", str(row.pk))
    assert f'href="{address(row, "change")}"' in answer.text
    assert answer.context["name"] == "order-1, corrected"
    assert "Made by ayse as a corrected copy" in answer.text


def test_the_replaced_rows_page_leads_to_the_copy_and_offers_nothing(operator, site) -> None:
    (row,) = make_failed(site)
    operator.post(address(row), form_of(operator, row) | {"conversionValue": "7"})

    page = operator.get(address(row, "change"))
    again = operator.post(address(row), {"click_id": "x"}, follow=True)

    copy = Conversion.objects.get(replaces=row)
    assert (page.context["primary"], page.context["offers"]) == (None, [])
    assert "Replaced by ayse with a corrected copy" in page.text
    assert page.text.count(f'href="{address(copy, "change")}"') >= 2, "in the timeline, and in what to do"
    assert f"already replaced by {copy}" in again.text


@pytest.mark.parametrize(
    ("category", "primary"),
    [("VALIDATION", "Correct and resend"), ("RATE_LIMIT", "Retry"), ("AUTH", "Open the site&#x27;s script")],
)
def test_the_primary_action_fits_the_category(make_person, site, category: str, primary: str) -> None:
    (row,) = make_failed(site, code="OWN", category=category)

    page = make_person(sites={site: "operator"}).get(address(row, "change"))

    assert page.text.count('kilit-primary"') == 1
    assert f'kilit-primary">{primary}<' in page.text
    assert "correct" in page.text


def test_a_fault_is_shown_at_its_field_and_nothing_is_stored(operator, site) -> None:
    (row,) = make_failed(site)
    given = form_of(operator, row)

    wrong = operator.post(address(row), given | {"click_id": "two words", "conversionCurrency": "XX1"})
    unchanged = operator.post(address(row), given)

    assert wrong.context["form"].errors == {
        "click_id": ["A click id contains no white space."],
        "conversionCurrency": ["“XX1” is not an ISO 4217 currency code, such as TRY."],
    }
    assert unchanged.context["form"].non_field_errors() == ["Nothing is corrected; Retry sends it as it is."]
    assert Conversion.objects.count() == 1


def test_the_dashboard_and_the_group_advise_to_correct_what_a_retry_cannot_help(operator, site) -> None:
    make_failed(site, code="EVENT_NOT_FOUND")
    make_failed(site, code="QUOTA", category="RATE_LIMIT")

    problems = find_problems(User.objects.get(username="ayse"))
    groups = operator.get(f"{LIST}groups/").context["groups"]

    actions = {problem.code: problem.action for problem in problems if problem.kind == "failures"}
    assert {code: action.label for code, action in actions.items()} == {
        "EVENT_NOT_FOUND": "Review and correct",
        "QUOTA": "Review and retry",
    }
    assert "status=FAILED" in actions["EVENT_NOT_FOUND"].link
    assert {row.group.code: row.action for row in groups} == actions


# The file


def exported(client: Client) -> list[dict[str, str]]:
    answer = client.get(f"{LIST}dead-letters/")
    text = b"".join(answer.streaming_content).decode()
    return list(csv.DictReader(StringIO(text.removeprefix("\ufeff"), newline="")))


def written(lines: list[dict[str, str]]) -> bytes:
    file = StringIO()
    writer = csv.DictWriter(file, lines[0])
    writer.writeheader()
    writer.writerows(lines)
    return file.getvalue().encode()


def test_an_export_that_nobody_edited_changes_nothing(operator, site) -> None:
    make_failed(site, gclid="-starts-like-a-formula", message="two\nlines", source_key="order-1")
    make_failed(site, wbraid="CkQKC-w", currency="JPY", value=120)

    answer = upload(operator, site, written(exported(operator)))

    assert answer.context["summary"].startswith("Would correct 0 of 2 rows; 2 unchanged, 0 rejected.")
    assert not answer.context["may_start"]
    assert Conversion.objects.count() == 2


def test_edited_lines_are_sent_as_copies_and_leave_the_next_export(operator, site) -> None:
    rows = make_failed(site, 3)
    lines = exported(operator)
    lines[0]["gclid"], lines[1]["conversionValue"] = "Cj0KCQ-right", "many"
    file = written(lines)

    checked = upload(operator, site, file)
    assert Conversion.objects.count() == 3
    stored = confirm(operator)

    assert checked.context["summary"].startswith("Would correct 1 of 3 rows; 1 unchanged, 1 rejected.")
    assert checked.context["submit"] == "Correct and resend 1 row of Mobilya"
    assert stored.context["summary"] == "Corrected 1 of 3 rows; 1 unchanged, 1 rejected."
    (fault,) = stored.context["rejected"]["fields"]
    assert (fault.line, fault.field, fault.value, fault.reason) == (3, "conversionValue", "many", "Expected a number.")
    assert Conversion.objects.get(replaces=rows[0]).gclid == "Cj0KCQ-right"
    assert [line["id"] for line in exported(operator)] == [str(row) for row in rows[1:]]


def test_a_row_of_another_site_is_a_fault_of_its_id(operator, make_site, site) -> None:
    (row,) = make_failed(make_site())

    answer = upload(operator, site, f"id,gclid\n{row},new\n,new\n".encode())

    faults = [(fault.line, fault.field, fault.value, fault.reason) for fault in answer.context["rejected"]["fields"]]
    assert faults[0] == (2, "id", str(row), "there is no such row at this site")
    assert faults[1][3] == "the id is missing"
