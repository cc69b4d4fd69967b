"""Google's status of a request: what became of its events; and the ways in which a status can be wrong."""

from collections import defaultdict
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

PREFIX = "PROCESSING_ERROR_REASON_"
WARNING_PREFIX = "PROCESSING_WARNING_REASON_"

Status = dict[str, Any]
Change = Callable[[Status], None]


@dataclass
class TakenRequest:
    """A request that was taken: its events in order, and what becomes of each."""

    body: bytes
    destination: dict[str, Any]
    events: list[dict[str, Any]]
    errors: list[list[str]]  # for each event; empty when it succeeds
    warnings: list[list[str]] = field(default_factory=list)
    validate_only: bool = False
    questions: int = 0

    @property
    def transaction_ids(self) -> list[str]:
        return [event["transactionId"] for event in self.events]

    def processing(self) -> Status:
        return {
            "requestStatusPerDestination": [{"destination": self.destination, "requestStatus": "PROCESSING"}],
        }

    def status(self) -> Status:
        failed = sum(bool(reasons) for reasons in self.errors)
        result = "SUCCESS" if not failed else "FAILED" if failed == len(self.events) else "PARTIAL_SUCCESS"
        answer: Status = {"destination": self.destination, "requestStatus": result}
        if failed:
            answer["errorInfo"] = {"errorCounts": _counts(self.errors, PREFIX)}
        if any(self.warnings):
            answer["warningInfo"] = {"warningCounts": _counts(self.warnings, WARNING_PREFIX)}
        answer["eventsIngestionStatus"] = {"recordCount": str(len(self.events))}
        return {"requestStatusPerDestination": [answer]}


def _counts(reasons: list[list[str]], prefix: str) -> list[dict[str, object]]:
    places: dict[str, list[int]] = defaultdict(list)
    for place, names in enumerate(reasons):
        for name in names:
            places[name if name.startswith("PROCESSING_") else prefix + name].append(place)
    return [
        {"reason": name, "recordCount": str(len(indices)), "recordIndices": indices} for name, indices in places.items()
    ]


def taken_elsewhere(request_id: str) -> TakenRequest | None:
    """Return the request that an id such as TAKEN-6-CLICK_NOT_FOUND describes: the last of six events fails."""
    kind, _, described = request_id.partition("-")
    if kind != "TAKEN":
        return None
    number, *reasons = described.split("-")
    events = [{"transactionId": f"{request_id}-{place}"} for place in range(int(number))]
    errors: list[list[str]] = [[] for _ in range(len(events) - len(reasons))]
    return TakenRequest(b"", {}, events, errors + [[reason] for reason in reasons])


def changed(status: Status, change: Change | None) -> Status:
    """Return a status with a change made to its only destination."""
    if change is None:
        return status
    copy = deepcopy(status)
    change(copy["requestStatusPerDestination"][0])
    return copy


def without_indices(status: Status) -> None:
    for count in _error_counts(status):
        del count["recordIndices"]


def without_error_counts(status: Status) -> None:
    status.pop("errorInfo", None)


def wrong_record_count(status: Status) -> None:
    """Google counts one event fewer than it was sent."""
    count = status["eventsIngestionStatus"]
    count["recordCount"] = str(int(count["recordCount"]) - 1)


def wrong_error_count(status: Status) -> None:
    """A reason counts one event more than its indices."""
    for count in _error_counts(status)[:1]:
        count["recordCount"] = str(int(count["recordCount"]) + 1)


def out_of_range(status: Status) -> None:
    total = int(status["eventsIngestionStatus"]["recordCount"])
    for count in _error_counts(status)[:1]:
        count["recordIndices"][-1] = total


def descending(status: Status) -> None:
    for count in _error_counts(status):
        count["recordIndices"].reverse()


def repeated_index(status: Status) -> None:
    for count in _error_counts(status):
        count["recordIndices"] = count["recordIndices"][:1] * len(count["recordIndices"])


def success_with_errors(status: Status) -> None:
    """SUCCESS, and yet reasons with indices."""
    status["requestStatus"] = "SUCCESS"


def failed_instead_of_partial(status: Status) -> None:
    """FAILED, and yet reasons that do not cover every event."""
    status["requestStatus"] = "FAILED"


def unknown_status(status: Status) -> None:
    status["requestStatus"] = "REQUEST_STATUS_UNKNOWN"


def _error_counts(status: Status) -> list[dict[str, Any]]:
    counts: list[dict[str, object]] = status.get("errorInfo", {}).get("errorCounts", [])
    return counts
