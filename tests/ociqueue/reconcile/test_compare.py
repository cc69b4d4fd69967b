"""Comparing two sets of counts: every planted difference is found, and none is invented."""

from collections import defaultdict
from datetime import date, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ociqueue.reconcile.compare import ADS_API, DAYS, Finding, GoogleCount, OurCount, compare

TODAY = date(2026, 11, 16)
DAY = timedelta(days=1)
OTHER = "GOOGLE_ADS_WEB_CLIENT"


def ours(age: int = 2, *, until: int | None = None, **counts: object) -> OurCount:
    """Return rows that were sent so many days ago, or until so many days ago."""
    values = {"action": "7", "is_due": age > 1, **counts}
    return OurCount(first_day=TODAY - DAY * age, last_day=TODAY - DAY * (age if until is None else until), **values)


def google(*counts: tuple[int, GoogleCount], client: str = ADS_API, action: str = "7"):
    return {(TODAY - DAY * age, action): {client: count} for age, count in counts}


def findings(counts, summaries, *, any_client: bool = False) -> dict[tuple[int, str], list[Finding]]:
    rows = compare(counts, summaries, today=TODAY, any_client=any_client)
    return {((TODAY - row.day).days, row.action): row.findings for row in rows if row.findings}


CASES = {
    "equal": ([ours(accepted=3, failed=1)], google((2, GoogleCount(3, 1))), {}),
    "rows are missing": ([ours(accepted=3)], google((2, GoogleCount(2))), {2: [Finding.MISSING]}),
    "a day is missing": ([ours(accepted=3)], {}, {2: [Finding.MISSING]}),
    "rows are missing, but not for long": ([ours(1, accepted=3)], google((1, GoogleCount(2))), {}),
    "some are too new": ([ours(accepted=3), ours(accepted=2, is_due=False)], google((2, GoogleCount(3))), {}),
    "failed ones are missing": ([ours(accepted=3, failed=1)], google((2, GoogleCount(3))), {2: [Finding.MISSING]}),
    "pending": ([ours(1, accepted=3)], google((1, GoogleCount(1, 0, 2))), {}),
    "still pending": ([ours(accepted=3)], google((2, GoogleCount(1, 0, 2))), {2: [Finding.STILL_PENDING]}),
    "more at Google": ([ours(accepted=3)], google((2, GoogleCount(5))), {2: [Finding.MORE]}),
    "more, explained by a lost answer": ([ours(accepted=3, unknown=2)], google((2, GoogleCount(5))), {}),
    "an unknown row that did not arrive": ([ours(accepted=3, unknown=2)], google((2, GoogleCount(3))), {}),
    "failed later": ([ours(accepted=3)], google((2, GoogleCount(2, 1))), {2: [Finding.MORE_FAILED]}),
    "around midnight, the day before": ([ours(3, until=2, accepted=3)], google((3, GoogleCount(3))), {}),
    "around midnight, the day after": ([ours(3, until=2, accepted=3)], google((2, GoogleCount(3))), {}),
    "around midnight, both": ([ours(3, until=2, accepted=3)], google((3, GoogleCount(1)), (2, GoogleCount(2))), {}),
    "around midnight, and missing": (
        [ours(3, until=2, accepted=3), ours(2, accepted=1)],
        google((3, GoogleCount(1)), (2, GoogleCount(2))),
        {2: [Finding.MISSING]},
    ),
    "before the first day": ([ours(DAYS, until=DAYS - 1, accepted=3)], {}, {}),
    "before the first day, counted on it": (
        [ours(DAYS, until=DAYS - 1, accepted=3)],
        google((DAYS - 1, GoogleCount(3))),
        {},
    ),
}


@pytest.mark.parametrize(("sent", "summaries", "expected"), CASES.values(), ids=CASES)
def test_what_is_found(sent, summaries, expected) -> None:
    assert findings(sent, summaries) == {(age, "7"): found for age, found in expected.items()}


def test_another_client_is_a_note_and_hides_nothing() -> None:
    summaries = {(TODAY - DAY * 2, "7"): {ADS_API: GoogleCount(2), OTHER: GoogleCount(1)}}

    assert findings([ours(accepted=3)], summaries) == {(2, "7"): [Finding.MISSING, Finding.OTHER_CLIENT]}
    # Nobody knows where Google counts scripts.
    assert findings([ours(accepted=3, by_api=False)], summaries, any_client=True) == {}


def test_uploads_of_another_api_of_ours_are_no_other_client() -> None:
    received = ours(unknown=1, by_api=False)

    assert findings([received], google((2, GoogleCount(1)), client="ADS_DATA_CONNECTOR")) == {}


sendings = st.lists(
    st.builds(
        dict,
        age=st.integers(0, DAYS - 1),
        straddles=st.booleans(),
        action=st.sampled_from("78"),
        accepted=st.integers(0, 5),
        failed=st.integers(0, 3),
        unknown=st.integers(0, 2),
        # How many of each Google counts on the first of two days, and how many unknown rows it got.
        early=st.integers(0, 8),
        arrived=st.integers(0, 2),
        pending=st.integers(0, 5),
    ),
    max_size=12,
)


def play(sent) -> tuple[list[OurCount], dict]:
    """Return what we know of sendings, and what a Google that loses nothing counts."""
    counts, booked = [], defaultdict(lambda: [0, 0, 0])
    for one in sent:
        age, until = one["age"], max(0, one["age"] - 1) if one["straddles"] else one["age"]
        values = {name: one[name] for name in ("accepted", "failed", "unknown", "action")}
        counts.append(ours(age, until=until, **values, is_due=age > 2))
        days = {"first": (TODAY - DAY * age, one["action"]), "last": (TODAY - DAY * until, one["action"])}
        pending = min(one["pending"], one["accepted"]) if age <= 2 else 0
        for kind, number in enumerate((one["accepted"] - pending, one["failed"], pending)):
            early = min(one["early"], number)
            booked[days["first"]][kind] += early
            booked[days["last"]][kind] += number - early
        booked[days["last"]][0] += min(one["arrived"], one["unknown"])
    return counts, {key: {ADS_API: GoogleCount(*values)} for key, values in booked.items()}


@settings(max_examples=100, deadline=None)
@given(sent=sendings)
def test_no_difference_is_invented(sent) -> None:
    counts, summaries = play(sent)

    found = findings(counts, summaries)

    assert not [each for each in found.values() if Finding.MISSING in each or Finding.STILL_PENDING in each]
    assert not [each for each in found.values() if Finding.MORE in each]


@settings(max_examples=100, deadline=None)
@given(sent=sendings, lost=st.integers(1, 9))
def test_a_loss_beyond_what_is_in_doubt_is_found(sent, lost) -> None:
    """All rows are due and none is unknown: then Google's total of an action cannot be below ours unnoticed."""
    sent = [{**one, "age": max(one["age"], 4), "unknown": 0, "arrived": 0, "straddles": False} for one in sent]
    counts, summaries = play(sent)
    key = next((key for key, clients in summaries.items() if clients[ADS_API].successful >= lost), None)
    if key is None:
        return
    before = summaries[key][ADS_API]
    summaries[key] = {ADS_API: GoogleCount(before.successful - lost, before.failed, before.pending)}

    found = findings(counts, summaries)

    assert found == {((TODAY - key[0]).days, key[1]): [Finding.MISSING]}
