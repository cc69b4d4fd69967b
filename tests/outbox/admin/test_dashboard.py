"""Webhooks on the dashboard: what waits longest, and endpoints that fail or were switched off."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db.models.functions import Now
from django.utils import timezone

from kilit.console.dashboard import page as dashboard
from kilit.problems.kinds import ProblemKind
from kilit.problems.registry import MOST_NAMED, Problem, SeesEverything, find_problems
from outbox.models import Endpoint, OutboxMessage
from tests.support.dashboard import panel_of, text_of
from tests.support.outbox import make_endpoint, make_failed_message, make_message

pytestmark = pytest.mark.django_db

PANEL = panel_of("message")


def problems(kind: ProblemKind, user=None) -> list[Problem]:
    return [each for each in find_problems(user or SeesEverything()) if each.part == "message" and each.kind == kind]


def user(name: str = "ayse") -> User:
    return User.objects.get(username=name)


def test_the_strip_names_the_message_that_has_been_due_longest(make_person, house) -> None:
    make_message(endpoint=house.of_mine, kind="later", next_try_at=Now() + timedelta(hours=1))
    make_message(endpoint=house.of_mine, kind="newer")
    oldest = make_message(endpoint=house.of_mine, kind="older", next_try_at=Now() - timedelta(hours=1))
    make_message(endpoint=house.of_theirs, kind="theirs", next_try_at=Now() - timedelta(hours=2))
    make_person(role="viewer", sites={house.mine: "viewer"})

    strip = dashboard.fill_strips([PANEL], user(), now=timezone.now())[0]

    assert strip.oldest is not None
    assert (strip.oldest.name, str(oldest.pk) in strip.oldest.href) == ("older", True)
    assert {state.name: state.rows for state in strip.states if state.rows} == {"QUEUED": 3}


def test_an_endpoint_that_was_switched_off_automatically_is_a_problem(make_person, house) -> None:
    Endpoint.objects.filter(pk=house.of_mine.pk).switch_off("FAILING")
    Endpoint.objects.filter(pk=house.of_theirs.pk).switch_off("OPERATOR")
    client = make_person(role="operator", sites={house.mine: "operator"})
    viewer = make_person("viewer", role="viewer", sites={house.mine: "viewer"})

    (problem,) = problems(ProblemKind.ENDPOINT_OFF)

    assert problem.name == str(house.of_mine.pk)
    assert [place.scope for place in problem.where] == [str(house.mine.pk)]
    assert "https://mine.example/hook?… is switched off" in text_of(client)
    assert f'href="/admin/outbox/endpoint/{house.of_mine.pk}/switch-on/"' in client.get("/admin/").text
    assert "switch-on/" not in viewer.get("/admin/").text


def test_an_endpoint_that_fails_for_a_while_is_a_problem(house) -> None:
    Endpoint.objects.filter(pk=house.of_mine.pk).update(failing_since=Now() - timedelta(hours=1))
    Endpoint.objects.filter(pk=house.of_theirs.pk).update(failing_since=Now())

    (problem,) = problems(ProblemKind.ENDPOINT_FAILING)

    assert problem.title == "https://mine.example/hook?… fails"
    assert "it is switched off at" in problem.cause


def test_many_endpoints_are_one_problem(make_person) -> None:
    for number in range(MOST_NAMED + 2):
        make_endpoint(url=f"https://{number}.example/")
    Endpoint.objects.all().switch_off("GONE")

    (problem,) = problems(ProblemKind.ENDPOINT_OFF)

    assert (problem.title, problem.count, problem.beyond) == ("7 endpoints are switched off", 7, 2)


def test_problems_of_others_are_not_seen(make_person, house) -> None:
    for endpoint in (house.of_theirs, house.of_all):
        make_failed_message(endpoint=endpoint)
    Endpoint.objects.exclude(pk=house.of_mine.pk).switch_off("GONE")
    make_person(role="operator", sites={house.mine: "operator"})

    assert [each for each in find_problems(user()) if each.part == "message"] == []
    assert len([each for each in find_problems(SeesEverything()) if each.part == "message"]) == 3


def test_failed_messages_are_a_problem_by_cause_and_marked_ones_are_none(house) -> None:
    make_failed_message(endpoint=house.of_mine, code="TIMED_OUT")
    make_message(endpoint=house.of_mine)
    OutboxMessage.objects.waiting().mark_failed()

    (problem,) = problems(ProblemKind.FAILURES)

    assert problem.title == "1 message failed"
    assert problem.cause == "No answer in time"
    assert [(place.name, place.count) for place in problem.where] == [("Mine", 1)]


def test_a_message_whose_worker_does_not_report_is_stuck(house) -> None:
    make_message(endpoint=house.of_mine)
    OutboxMessage.objects.claim(limit=1)
    assert problems(ProblemKind.STUCK) == []
    OutboxMessage.objects.update(lease_until=Now() - timedelta(minutes=6))

    assert [problem.count for problem in problems(ProblemKind.STUCK)] == [1]
