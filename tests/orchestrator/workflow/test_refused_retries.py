"""Retry is offered only where it is not refused; elsewhere the console says what to do instead."""

import re
from datetime import date
from html import unescape

import pytest

from kilit.lock.models import Event
from kilit.problems.registry import find_problems
from orchestrator.errors import PERMANENT_CODES, Code
from orchestrator.models import Job
from orchestrator.states import JobState
from tests.support.cutting_jobs import GOVDE, LIST, failed, lose_sight, make_job, page_of
from tests.support.guarded_columns import write_unguarded

pytestmark = pytest.mark.django_db


def retried(job: Job, times: int) -> Job:
    write_unguarded(Job.objects.filter(pk=job.pk), retry_count=times)
    return job


def offers(page) -> set[str]:
    shown = page.context["offers"] + page.context["answers"] + [page.context["primary"]] * bool(page.context["primary"])
    return {str(offer.title) for offer in shown}


def sentences(page) -> str:
    return " ".join(str(blocker.sentence) for blocker in page.context["blockers"])


@pytest.mark.parametrize(
    ("code", "retries"), [*((code, 0) for code in sorted(PERMANENT_CODES)), (Code.OPTI_XML_TIMEOUT, 3)]
)
def test_a_job_that_cannot_be_retried_is_sent_again(make_person, code, retries) -> None:
    operator, job = make_person(), retried(failed(code, due_on="2026-12-01"), retries)
    shown = page_of(operator, job)

    assert offers(shown) == {"Send again as revision 1"}
    assert "next revision" in sentences(shown)
    assert not re.search(r"then (approve|retry)|retry when", sentences(shown), re.IGNORECASE)

    address = shown.context["primary"].href
    assert "Send again as revision 1" in operator.get(address).text
    first = operator.post(address)
    second = operator.post(address)

    sent = Job.objects.exclude(pk=job.pk).get()
    assert first.url == second.url == f"{LIST}{sent.pk}/change/"
    assert (sent.order_id, sent.revision, sent.status) == (job.order_id, 1, "NEW")
    assert sent.payload == job.payload | {"revision": 1}
    assert sent.due_on == date(2026, 12, 1)
    assert Event.objects.of(sent).first().actor == "operator:ayse"


def test_only_what_cannot_be_retried_is_sent_again(make_person, api) -> None:
    operator, viewer = make_person(), make_person("vera", role="viewer")
    retryable, unknown = failed(Code.OPTI_XML_TIMEOUT), failed(Code.UNKNOWN, order_id="S-2")
    lose_sight(retried(unknown, 3))
    cut = failed(Code.XML_INVALID, order_id="S-3")
    cut.solution_files.create(name="a.xml", content=b"", acknowledged_as="a.xml")

    for job in (retryable, unknown, cut, make_job(order_id="S-4")):
        assert "Send again as revision 1" not in offers(page_of(operator, job))
        assert operator.post(f"{LIST}{job.pk}/send-again/").status_code == 302
    permanent = failed(Code.XML_INVALID, order_id="S-5")
    assert offers(page_of(viewer, permanent)) == set()
    assert viewer.post(f"{LIST}{permanent.pk}/send-again/").status_code == 403

    assert not Job.objects.filter(revision=1).exists()


@pytest.mark.parametrize("code", [Code.EDGE_MAPPING_UNKNOWN, Code.INVALID_GRAIN])
def test_the_rules_come_first_only_while_a_retry_may_follow(make_person, code) -> None:
    operator = make_person()
    part = {**GOVDE, "edge_up": "gold"}

    retryable = failed(code, order_id="S-2", parts=[part])
    retried_out = retried(failed(code, order_id="S-3", parts=[part]), 3)

    assert "Retry" in offers(page_of(operator, retryable))
    assert offers(page_of(operator, retried_out)) == {"Send again as revision 1"}


def test_a_job_of_unknown_handover_offers_exactly_the_two_answers(make_person) -> None:
    operator, job = make_person(), failed(Code.UNKNOWN)
    lose_sight(job)

    shown = page_of(operator, job)

    assert offers(shown) == {"It was cut", "Hand it over again"}
    assert [str(offer.title) for offer in shown.context["answers"]] == ["It was cut", "Hand it over again"]
    assert "Ask at the saw" in sentences(shown)
    assert "x.xml" in shown.text
    asked = operator.get(f"{LIST}{job.pk}/hand-over/").text
    assert "Hand it over to the saw again?" in asked
    answer = operator.post(f"{LIST}act/hand_over/", {"ids": job.pk, "reason": "not cut", "from_row": "1"}, follow=True)
    assert "Handed over again: 1 of 1." in answer.text
    job.refresh_from_db()
    assert job.status == "OPTI_DONE"
    event = Event.objects.of(job).last()
    assert (event.actor, event.message, event.details["verb"]) == ("operator:ayse", "not cut", "hand_over")


@pytest.mark.parametrize(
    ("code", "retry", "decide"),
    [(Code.XML_INVALID, False, False), (Code.HANDOVER_UNKNOWN, False, True), (Code.OPTI_XML_TIMEOUT, True, False)],
)
def test_lists_and_groups_offer_only_what_helps(make_person, code, retry, decide) -> None:
    operator, job = make_person(), failed(Code.OPTI_XML_TIMEOUT if retry else Code.XML_INVALID)
    if decide:
        lose_sight(job)
    job.refresh_from_db()

    for filters in ({"code": code}, {"group": job.error_group}, {"code": code, "status": JobState.FAILED}):
        listed = operator.get(LIST, filters)
        ticked = {action.name for action in listed.context["cl"].controls.actions()}
        assert [name in ticked for name in ("retry", "confirm_cut", "hand_over")] == [retry, decide, decide]
        over_all = unescape(str([offer["address"] for offer in listed.context["bulk_offers"]]))
        assert [name in over_all for name in ("all/retry", "confirm-cut", "hand-over")] == [retry, decide, decide]
    (group,) = operator.get(f"{LIST}groups/").context["groups"]
    assert bool(group.action) == retry
    plain = {action.name for action in operator.get(LIST).context["cl"].controls.actions()}
    assert plain == {"approve", "retry", "cancel"}


def test_the_dashboard_has_a_line_for_unknown_handovers(admin_user) -> None:
    jobs = [failed(Code.UNKNOWN, order_id=f"S-{number}") for number in range(2)]
    for job in jobs:
        lose_sight(job)
    failed(Code.XML_INVALID, order_id="S-9")

    problems = {problem.kind: problem for problem in find_problems(admin_user) if problem.part == "cutting_job"}

    unknown = problems["handover-unknown"]
    assert (unknown.title, unknown.count) == ("2 cutting jobs: ask at the saw whether they were cut", 2)
    assert [place.name for place in unknown.where] == ["S-0", "S-1"]
    assert unknown.action.link == f"{LIST}?code=E_HANDOVER_UNKNOWN"
    assert (problems["failures"].count, problems["failures"].action) == (1, None)
