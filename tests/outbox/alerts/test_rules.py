"""Rules say which problems a channel reports, and the owner which it may."""

import pytest

from kilit.problems.kinds import ProblemKind
from kilit.problems.registry import Place, ProblemSource, Severity
from kilit.problems.tracking import track_problems
from outbox.models import AlertRule
from tests.support.alerts import held, kinds, make_channel
from tests.support.people import make_user

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("rule", "matches"),
    [
        ({}, True),
        ({"part": "cutting_job"}, True),
        ({"part": "conversion"}, False),
        ({"scope": "7"}, True),
        ({"scope": "8"}, False),
        ({"kinds": ["hold", "stuck"]}, True),
        ({"kinds": ["stuck"]}, False),
        ({"min_count": 20}, True),
        ({"min_count": 21}, False),
        ({"min_severity": Severity.SERIOUS}, False),
    ],
)
def test_rules_say_what_is_reported(problems, rule: dict, matches: bool) -> None:
    AlertRule.objects.create(channel=make_channel(), **rule)
    problems.append(held(20, where=[Place("Ege", scope="7")]))

    track_problems()

    assert kinds() == (["alert.opened"] if matches else [])


def test_a_problem_of_more_sites_than_it_names_counts_for_every_site(problems) -> None:
    AlertRule.objects.create(channel=make_channel(), scope="8")
    problems.append(held(20, where=[Place("Ege", scope="7")], beyond=4))
    problems.append(held(20, name="E_Y", where=[Place("order 1")], beyond=4))  # of no site

    track_problems()

    assert kinds() == ["alert.opened"]


def test_without_rules_old_failures_and_notices_are_not_reported(problems) -> None:
    make_channel()
    problems += [held(kind=ProblemKind.OLD_FAILURES), held(severity=Severity.NOTICE, name="E_Z")]

    track_problems()

    assert kinds() == []


def test_alerts_contain_only_what_the_owner_may_see(monkeypatch) -> None:
    ayse, root = make_user("ayse", role=None), make_user("root", role="owner")
    mine, everything = make_channel(owner=ayse), make_channel("root@example.com", owner=root)

    def found(user: object) -> list:
        return [held(2 if getattr(user, "username", "") == "ayse" else 5)]

    monkeypatch.setattr("kilit.problems.registry.sources", [ProblemSource(found)])
    track_problems()

    assert "2 jobs" in mine.messages.get().body
    assert "5 jobs" in everything.messages.get().body
