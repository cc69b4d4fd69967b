"""A verdict confirms a row only if the whole status proves it; a status in doubt is not used at all."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ociqueue.models import Conversion
from ociqueue.states import Disposition
from ociqueue.uploader.datamanager.verdicts import read_status
from ociqueue.uploader.results import Verdict, VerdictStatus

PREFIX = "PROCESSING_ERROR_REASON_"


def rows(count: int) -> list[Conversion]:
    return [Conversion() for _ in range(count)]


def error(reason: str, count: Any, *places: Any) -> dict[str, Any]:
    return {"reason": PREFIX + reason, "recordCount": count, **({"recordIndices": list(places)} if places else {})}


def status(name: Any, count: Any, *errors: Any, **more: Any) -> dict[str, Any]:
    one = {
        "requestStatus": name,
        "eventsIngestionStatus": {"recordCount": count},
        **({"errorInfo": {"errorCounts": list(errors)}} if errors else {}),
        **more,
    }
    return {"requestStatusPerDestination": [one]}


def dispositions(verdict: Verdict) -> list[str]:
    return [result.disposition for result in verdict.results]


def test_success_with_the_right_count_confirms_every_row() -> None:
    verdict = read_status(status("SUCCESS", "3"), rows(3))

    assert (verdict.status, verdict.label) == (VerdictStatus.SETTLED, "SUCCESS")
    assert dispositions(verdict) == ["ACCEPTED"] * 3


NOT_FINAL = ["PROCESSING", "REQUEST_STATUS_UNKNOWN", "SOMETHING_NEW", None, 1, {}, ["SUCCESS"]]
NO_DESTINATION = [{}, {"requestStatusPerDestination": []}, {"requestStatusPerDestination": None}, []]


@pytest.mark.parametrize("answer", [*(status(name, 3) for name in NOT_FINAL), *NO_DESTINATION])
def test_a_status_that_is_not_final_or_without_a_destination_is_pending(answer) -> None:
    assert read_status(answer, rows(3)).status == VerdictStatus.PENDING


def test_places_that_agree_with_the_counts_name_the_failed_rows() -> None:
    answer = status("PARTIAL_SUCCESS", "5", error("INVALID_GCLID", "2", 0, "3"), error("TOO_RECENT_CLICK", 1, 4))

    verdict = read_status(answer, rows(5))

    assert dispositions(verdict) == ["FATAL", "ACCEPTED", "ACCEPTED", "FATAL", "DEFER"]
    assert [result.code for result in verdict.results] == ["INVALID_GCLID", "", "", "INVALID_GCLID", "TOO_RECENT_CLICK"]


@pytest.mark.parametrize("name", ["FAILED", "FAILURE"])
def test_one_reason_for_all_rows_needs_no_places(name) -> None:
    verdict = read_status(status(name, 2, error("EVENT_TOO_OLD", 2)), rows(2))

    assert [(result.disposition, result.code) for result in verdict.results] == [("FATAL", "EVENT_TOO_OLD")] * 2


def test_a_row_with_two_reasons_gets_the_worse() -> None:
    answer = status("FAILED", 2, error("TOO_RECENT_CLICK", 2, 0, 1), error("INVALID_GCLID", 1, 1))

    verdict = read_status(answer, rows(2))

    assert dispositions(verdict) == ["DEFER", "FATAL"]
    assert "TOO_RECENT_CLICK" in verdict.results[1].message


def test_the_reasons_of_a_single_row_are_known_without_places() -> None:
    answer = status("FAILED", 1, error("INTERNAL_ERROR", 1), error("INVALID_GCLID", 1))

    assert [result.code for result in read_status(answer, rows(1)).results] == ["INVALID_GCLID"]


UNPROVEN = {
    "success of fewer rows": status("SUCCESS", 2),
    "success of more rows": status("SUCCESS", 4),
    "success without a count": status("SUCCESS", None),
    "success with errors": status("SUCCESS", 3, error("INVALID_GCLID", 1, 0)),
    "success with an error of no rows": status("SUCCESS", 3, error("INVALID_GCLID", 0)),
    "success with unreadable errors": status("SUCCESS", 3, errorInfo="?"),
    "success with unreadable counts": status("SUCCESS", 3, errorInfo={"errorCounts": {}}),
    "partial without errors": status("PARTIAL_SUCCESS", 3),
    "partial without places": status("PARTIAL_SUCCESS", 3, error("INVALID_GCLID", 1)),
    "partial with all rows": status("PARTIAL_SUCCESS", 3, error("INVALID_GCLID", 3, 0, 1, 2)),
    "partial with all rows and no places": status("PARTIAL_SUCCESS", 3, error("INVALID_GCLID", 3)),
    "partial of fewer rows": status("PARTIAL_SUCCESS", 2, error("INVALID_GCLID", 1, 0)),
    "one place too few": status("PARTIAL_SUCCESS", 3, error("INVALID_GCLID", 2, 0)),
    "one place too many": status("PARTIAL_SUCCESS", 3, error("INVALID_GCLID", 1, 0, 1)),
    "a place twice": status("PARTIAL_SUCCESS", 3, error("INVALID_GCLID", 2, 1, 1)),
    "places in another order": status("PARTIAL_SUCCESS", 3, error("INVALID_GCLID", 2, 1, 0)),
    "a place beyond the last row": status("PARTIAL_SUCCESS", 3, error("INVALID_GCLID", 1, 3)),
    "a negative place": status("PARTIAL_SUCCESS", 3, error("INVALID_GCLID", 1, -1)),
    "a place that is not a number": status("PARTIAL_SUCCESS", 3, error("INVALID_GCLID", 1, None)),
    "one reason without places": status("PARTIAL_SUCCESS", 3, error("INVALID_GCLID", 1, 0), error("EVENT_TOO_OLD", 1)),
    "a reason twice": status("PARTIAL_SUCCESS", 3, error("INVALID_GCLID", 1, 0), error("INVALID_GCLID", 1, 1)),
    "failed with some rows": status("FAILED", 3, error("INVALID_GCLID", 2, 0, 1)),
    "failed without errors": status("FAILED", 3),
    "failed by two reasons without places": status("FAILED", 3, error("INVALID_GCLID", 2), error("EVENT_TOO_OLD", 1)),
    "failed with wrong places": status("FAILED", 3, error("INVALID_GCLID", 3, 0, 1, 7)),
    "an error that is no object": status("FAILED", 3, "INVALID_GCLID"),
    "a reason that is no name": status("FAILED", 3, {"reason": 7, "recordCount": 3}),
    "two destinations": {"requestStatusPerDestination": status("SUCCESS", 3)["requestStatusPerDestination"] * 2},
    "a destination that is no object": {"requestStatusPerDestination": ["SUCCESS"]},
}


@pytest.mark.parametrize("answer", UNPROVEN.values(), ids=UNPROVEN)
def test_a_status_that_contradicts_itself_is_not_used(answer) -> None:
    verdict = read_status(answer, rows(3))

    assert (verdict.status, list(verdict.results)) == (VerdictStatus.UNPROVEN, [])
    assert verdict.note


@pytest.mark.parametrize(
    "name",
    ["INVALID_GCLID", "PROCESSING_ERROR_REASON_INVALID_GCLID", "PROCESSING_ERROR_INVALID_GCLID"],
)
def test_names_come_with_or_without_their_prefix(name) -> None:
    verdict = read_status(status("FAILED", 1, {"reason": name, "recordCount": "1"}), rows(1))

    assert [(result.disposition, result.code) for result in verdict.results] == [("FATAL", "INVALID_GCLID")]


@pytest.mark.parametrize("entry", [{"reason": "BRAND_NEW"}, {}, {"reason": "\x00'; --"}, {"reason": "X" * 500}])
def test_a_reason_that_is_not_listed_says_nothing_about_the_row(entry) -> None:
    (result,) = read_status(status("FAILED", 1, {"recordCount": 1, **entry}), rows(1)).results

    assert (result.disposition, result.ambiguous) == (Disposition.RETRY, True)
    assert len(result.code) <= 64
    assert "\x00" not in result.code


def test_what_every_row_says_is_a_fault_of_the_account() -> None:
    all_of_them = status("FAILED", 2, error("UNKNOWN_CONSENT", 2))
    some = status("PARTIAL_SUCCESS", 2, error("UNKNOWN_CONSENT", 1, 0))
    alone = status("FAILED", 1, error("UNKNOWN_CONSENT", 1))

    assert dispositions(read_status(all_of_them, rows(2))) == ["GATE", "GATE"]
    assert dispositions(read_status(some, rows(2))) == ["FATAL", "ACCEPTED"]
    assert dispositions(read_status(alone, rows(1))) == ["FATAL"]


def test_an_account_that_accepts_some_rows_is_not_at_fault() -> None:
    terms = "DESTINATION_ACCOUNT_ENHANCED_CONVERSIONS_TERMS_NOT_SIGNED"

    verdict = read_status(status("PARTIAL_SUCCESS", 2, error(terms, 1, 1)), rows(2))

    assert dispositions(verdict) == ["ACCEPTED", "RETRY"]


def test_warnings_are_kept_and_fail_no_row() -> None:
    warning = {"reason": "PROCESSING_WARNING_REASON_INTERNAL_ERROR", "recordCount": "1", "recordIndices": [1]}
    unnamed = {"reason": "PROCESSING_WARNING_REASON_DECRYPTION_ERROR", "recordCount": "1"}
    answer = status("SUCCESS", 2, warningInfo={"warningCounts": [warning, unnamed]})

    verdict = read_status(answer, rows(2))

    assert dispositions(verdict) == ["ACCEPTED", "ACCEPTED"]
    assert [result.warnings for result in verdict.results] == [(), ("INTERNAL_ERROR",)]
    assert "DECRYPTION_ERROR" in verdict.note


def test_warnings_that_cannot_be_read_fail_no_row() -> None:
    verdict = read_status(status("SUCCESS", 2, warningInfo=[]), rows(2))

    assert dispositions(verdict) == ["ACCEPTED", "ACCEPTED"]


# Any JSON, and JSON that is almost a status: each number, list and name may be wrong.

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
SENT = 4
COUNTS = st.integers(-1, SENT + 1) | st.integers(0, SENT).map(str) | JSON
NAMES = st.sampled_from(["INVALID_GCLID", PREFIX + "TOO_RECENT_CLICK", "NEW", "DUPLICATE_GCLID"]) | JSON
PLACES = st.lists(st.integers(-1, SENT), max_size=SENT + 1) | st.sets(st.integers(0, SENT - 1)).map(sorted) | JSON
ERRORS = st.fixed_dictionaries({}, optional={"reason": NAMES, "recordCount": COUNTS, "recordIndices": PLACES}) | JSON
INFO = st.fixed_dictionaries({}, optional={"errorCounts": st.lists(ERRORS, max_size=3) | JSON}) | JSON
DESTINATION = st.fixed_dictionaries(
    {},
    optional={
        "requestStatus": st.sampled_from(["SUCCESS", "PARTIAL_SUCCESS", "FAILED", "FAILURE", "PROCESSING"]) | JSON,
        "eventsIngestionStatus": st.fixed_dictionaries({"recordCount": st.just(str(SENT)) | COUNTS}) | JSON,
        "errorInfo": INFO,
        "warningInfo": INFO,
    },
)
ALMOST_STATUS = st.fixed_dictionaries(
    {"requestStatusPerDestination": st.lists(DESTINATION | JSON, min_size=1, max_size=1) | st.lists(DESTINATION) | JSON}
)


def proves_success(answer: Any, at: int) -> bool:
    """Judge in another way than the code does whether a status says that a row is good."""
    (one,) = answer["requestStatusPerDestination"]
    if int(one["eventsIngestionStatus"]["recordCount"]) != SENT:
        return False
    errors = (one.get("errorInfo") or {}).get("errorCounts") or []
    if one["requestStatus"] == "SUCCESS":
        return not errors
    named = [[int(place) for place in each["recordIndices"]] for each in errors]
    agreed = all(
        len(places) == int(each["recordCount"]) and places == sorted(set(places)) and set(places) < set(range(SENT))
        for each, places in zip(errors, named, strict=True)
    )
    return one["requestStatus"] == "PARTIAL_SUCCESS" and bool(errors) and agreed and at not in set().union(*named)


@given(answer=ALMOST_STATUS | JSON)
def test_no_status_whatever_confirms_a_row_without_proof(answer: Any) -> None:
    verdict = read_status(answer, rows(SENT))

    assert len(verdict.results) == (SENT if verdict.status == VerdictStatus.SETTLED else 0)
    for at, result in enumerate(verdict.results):
        if result.disposition == Disposition.ACCEPTED:
            assert proves_success(answer, at)
    json.dumps([verdict.label, verdict.note])


@given(
    places=st.sets(st.integers(0, SENT - 1), min_size=1, max_size=SENT - 1),
    name=st.sampled_from(["INVALID_GCLID", "EVENT_TOO_OLD"]),
)
def test_a_status_that_agrees_is_used(places: set[int], name: str) -> None:
    verdict = read_status(status("PARTIAL_SUCCESS", SENT, error(name, len(places), *sorted(places))), rows(SENT))

    assert {at for at, result in enumerate(verdict.results) if result.disposition == Disposition.FATAL} == places
