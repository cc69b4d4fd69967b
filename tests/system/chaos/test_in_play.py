"""A run says which parts of the product it used, and a long one that left one out fails."""

from collections import Counter

import pytest

from tests.system.chaos.in_play import OF_THE_OPTIMISER, PARTS, count_parts
from tests.system.chaos.report import LONG_RUN, Finding, Report

# What a good day does not have: nothing fails, nothing is planned or cut, and no document is a paper of an order.
NOT_ON_A_GOOD_DAY = {
    "conversions sent by a hash alone",
    "circuits opened at the Google Ads API",
    "circuits opened at the Data Manager API",
    "circuits closed",
    "webhooks tried again",
    "orders delivered to the saw",
    "orders cut by hand",
    *OF_THE_OPTIMISER,
    "unknown handovers answered",
    "papers of orders",
}


def report(*, seconds: float, breaches: tuple[str, ...] = (), **in_play: int) -> Report:
    found = Report(7, seconds, Counter(kill=3), 0, 0, {"pdf": {"succeeded": 2}}, in_play=in_play)
    found.findings.append(Finding("each document has its file", "Each document has its file", list(breaches)))
    return found


def test_a_long_run_without_a_part_fails_and_names_it() -> None:
    found = report(seconds=LONG_RUN, circuits=0, webhooks=3)

    assert not found.is_kept
    assert found.verdict == "seed 7: BROKEN: no circuits; 3 strikes in 60 s, 2 rows"
    assert "| circuits | **none** |" in found.format()
    assert found.format().endswith("Not in play: circuits.")


def test_a_short_run_without_a_part_says_so() -> None:
    found = report(seconds=LONG_RUN - 1, circuits=0, webhooks=3)

    assert found.is_kept
    assert found.verdict == "seed 7: kept; 3 strikes in 59 s, 2 rows; not in play: circuits"


def test_a_run_that_gave_up_is_not_kept_and_says_why() -> None:
    found = report(seconds=10, webhooks=3)
    found.unfinished = ["cutting_job x is OPTI_RUNNING, its limit passed 60 s ago"]

    assert found.verdict.startswith("seed 7: BROKEN: it gave up;")
    assert "  cutting_job x is OPTI_RUNNING, its limit passed 60 s ago" in found.format()


def test_a_breach_comes_first_in_the_verdict() -> None:
    found = report(seconds=10, breaches=("pdf x has no file",), webhooks=3)

    assert found.verdict.startswith("seed 7: BROKEN: each document has its file;")
    assert found.format().endswith("BROKEN: see above.")


@pytest.mark.django_db
def test_parts_are_counted(world) -> None:
    assert {name for name, number in count_parts().items() if not number} == NOT_ON_A_GOOD_DAY & PARTS.keys()


@pytest.mark.django_db
def test_where_nothing_happened_nothing_was_in_play() -> None:
    assert count_parts() == dict.fromkeys(PARTS, 0)
