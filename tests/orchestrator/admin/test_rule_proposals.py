"""Operators propose rules; an owner saves or declines them with one click."""

import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import DatabaseError, transaction
from django.test import Client

from kilit.lock.models import Activity, ActivityKind
from kilit.problems.kinds import ProblemKind
from orchestrator.errors import Code
from orchestrator.models import RulesProposal, RulesVersion
from orchestrator.planning.rules import current_rules
from orchestrator.problems import proposed_rules
from tests.support.cutting_jobs import GOVDE, held
from tests.support.cutting_rules import PAGE, SHIPPED, sent, text_with, trims

pytestmark = pytest.mark.django_db


@pytest.fixture
def operator(make_person) -> Client:
    client: Client = make_person("mehmet", role="operator")
    return client


@pytest.fixture
def owner(make_person) -> Client:
    client: Client = make_person("ayse", role="owner")
    return client


@pytest.fixture
def proposal(operator, rules_file) -> RulesProposal:
    held(Code.TRIM_RULE_MISSING, order_id="S-16", parts=[{**GOVDE, "thickness_mm": 16}])
    held(Code.TRIM_RULE_MISSING, order_id="S-22", parts=[{**GOVDE, "thickness_mm": 22}])
    operator.post(PAGE, sent(rules_file, text_with(trimByThickness=trims(_16=8)), "propose"))
    return RulesProposal.objects.get()


def lines_for(name: str) -> list[Any]:
    return list(proposed_rules(User.objects.get(username=name)))


def test_a_proposal_waits_with_its_effect_and_changes_nothing(operator, owner, proposal, rules_file) -> None:
    assert (proposal.actor, proposal.reason, proposal.closed_at) == ("operator:mehmet", "new board", None)
    assert (proposal.held_jobs, proposal.released_jobs) == (2, 1)
    assert json.loads(rules_file.read_text()) == SHIPPED
    shown = owner.get(PAGE).text
    for text in ("Proposed by mehmet", "trimByThickness.16", "1 of 2 jobs on HOLD passes with it.", "“new board”"):
        assert text in shown
    (line,) = lines_for("mehmet")
    assert (line.kind, line.action) == (ProblemKind.RULES_PROPOSED, None)
    assert line.cause == "trimByThickness.16 8 · 1 job on HOLD passes with them · new board"


def test_one_click_of_an_owner_saves_it(owner, proposal, rules_file) -> None:
    (line,) = lines_for("ayse")
    assert line.action.is_done_at_once

    answer = owner.post(line.action.link, follow=True)

    assert "Saved. The rules apply" in answer.text
    assert current_rules().trim_by_thickness[16] == 8
    proposal.refresh_from_db()
    saved = RulesVersion.objects.latest("pk")
    assert (proposal.version, saved.actor, saved.reason) == (saved, "admin:ayse", "new board")
    assert proposal.closed_at
    assert not lines_for("ayse")
    assert "someone else has answered" in owner.post(line.action.link, follow=True).text
    assert RulesVersion.objects.latest("pk") == saved


def test_rules_that_changed_since_are_compared_before_it_is_saved(owner, proposal, rules_file) -> None:
    rules_file.write_text(text_with(retry_count_max=2))

    shown = owner.post(f"{PAGE}?accept={proposal.pk}", follow=True)

    assert "Not saved: the rules were changed meanwhile." in shown.text
    assert {each.path for each in shown.context["check"].changes} == {"trimByThickness.16", "retry_count_max"}
    merged = text_with(retry_count_max=2, trimByThickness=trims(_16=8))
    owner.post(f"{PAGE}?proposal={proposal.pk}", sent(rules_file, merged, "save"))
    proposal.refresh_from_db()
    assert json.loads(rules_file.read_text()) == json.loads(merged)
    assert proposal.version == RulesVersion.objects.latest("pk")


def test_rules_that_someone_saved_by_hand_close_it(owner, proposal, rules_file) -> None:
    rules_file.write_text(proposal.content)

    owner.post(f"{PAGE}?accept={proposal.pk}")  # the rules changed since
    owner.post(f"{PAGE}?proposal={proposal.pk}", sent(rules_file, proposal.content, "save"))

    proposal.refresh_from_db()
    assert proposal.closed_at
    assert proposal.version is None


def test_an_owner_declines_and_the_person_withdraws(operator, owner, proposal, rules_file) -> None:
    owner.post(f"{PAGE}?decline={proposal.pk}")

    assert not lines_for("ayse")
    operator.post(PAGE, sent(rules_file, text_with(retry_count_max=2), "propose"))
    operator.post(PAGE, sent(rules_file, text_with(retry_count_max=1), "propose"))
    (row,) = RulesProposal.objects.filter(closed_at=None)
    assert '"retry_count_max": 1' in row.content, "a second proposal of one person replaces the first"
    assert "Withdraw" in operator.get(PAGE).text
    operator.post(f"{PAGE}?decline={row.pk}")
    assert not RulesProposal.objects.filter(closed_at=None).exists()
    assert json.loads(rules_file.read_text()) == SHIPPED
    verbs = Activity.objects.filter(kind=ActivityKind.RULES).order_by("pk").values_list("verb", "person")
    assert list(verbs) == [
        ("proposed", "mehmet"),
        ("declined", "ayse"),
        ("proposed", "mehmet"),
        ("proposed", "mehmet"),
        ("declined", "mehmet"),
    ]


@pytest.mark.parametrize("answer", ["accept", "decline"])
def test_only_owners_answer_what_others_propose(make_person, proposal, rules_file, answer) -> None:
    for role in ("viewer", "operator", "admin"):
        assert make_person(f"other-{role}", role=role).post(f"{PAGE}?{answer}={proposal.pk}").status_code == 403
    proposal.refresh_from_db()
    assert proposal.closed_at is None


@pytest.mark.parametrize(
    ("change", "message"),
    [({"reason": ""}, "Give a reason."), ({"based_on": "0" * 64}, "Not saved: the rules were changed")],
)
def test_a_proposal_without_a_reason_or_of_old_rules_is_refused(operator, rules_file, change, message) -> None:
    values = sent(rules_file, text_with(retry_count_max=2), "propose", **change)

    assert message in operator.post(PAGE, values).text
    assert not RulesProposal.objects.exists()


@pytest.mark.parametrize("columns", [{"content": "{}"}, {"closed_at": None}, {"released_jobs": 9}])
def test_the_database_keeps_what_was_proposed(owner, proposal, columns) -> None:
    if "closed_at" in columns:
        owner.post(f"{PAGE}?decline={proposal.pk}")
    with pytest.raises(DatabaseError, match="what was proposed does not change"), transaction.atomic():
        RulesProposal.objects.update(**columns)
    with pytest.raises(DatabaseError, match="proposed rules cannot be deleted"), transaction.atomic():
        RulesProposal.objects.all().delete()
