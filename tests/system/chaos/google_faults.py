"""What goes wrong at Google: both of its APIs lose requests and answers, and statuses say too little or too much."""

from collections.abc import Callable
from typing import Any

from simulators.datamanager import refusals, statuses
from simulators.datamanager import server as calls
from simulators.datamanager.server import DataManagerServer
from simulators.googleads.server import Call, GoogleAdsServer, accept

# What the next uploads and the next question get.
UPLOAD_FAULTS: list[calls.Reply] = [
    calls.cut_before,
    calls.cut_after,
    calls.refuse(refusals.GoogleRefusal("UNAVAILABLE")),
    calls.refuse(refusals.exhausted(retry_after=1)),
]
QUESTION_FAULTS: list[calls.Reply] = [calls.cut_before, calls.refuse(refusals.GoogleRefusal("INTERNAL"))]
# What is wrong with the statuses for a while.
STATUS_FAULTS: list[statuses.Change] = [
    statuses.without_indices,
    statuses.wrong_record_count,
    statuses.out_of_range,
    statuses.success_with_errors,
    statuses.unknown_status,
]


def cut(google: GoogleAdsServer, data_manager: DataManagerServer) -> None:
    """Cut every connection to Google, whatever is on its way."""
    google.proxy.disconnect()
    data_manager.replies.append(calls.cut_after)


def return_errors(google: GoogleAdsServer, pick: int) -> None:
    """Let Google answer the next upload badly: not at all, or after it took the rows."""

    def unavailable(call: Call) -> Any:
        return call.refuse("UNAVAILABLE")

    def forgetful(call: Call) -> Any:
        accept(call)
        return call.refuse("INTERNAL")

    google.replies.append(unavailable if pick % 2 else forgetful)


def reject(call: Call) -> Any:
    """Let the Google Ads API reject the account."""
    return call.refuse("PERMISSION_DENIED", {"family": "authorization_error", "name": "USER_PERMISSION_DENIED"})


REJECT = calls.refuse(refusals.permission_denied())  # the same of the Data Manager API


def fail_data_manager(server: DataManagerServer, pick: int) -> Callable[[], None]:
    """Let the next upload and the next question fail, and spoil the statuses for a while."""
    server.replies.append(UPLOAD_FAULTS[pick % len(UPLOAD_FAULTS)])
    server.question_replies.append(QUESTION_FAULTS[pick % len(QUESTION_FAULTS)])
    server.processing, server.change = 1, STATUS_FAULTS[pick % len(STATUS_FAULTS)]
    server.reports_duplicates = bool(pick % 2)

    def recover() -> None:
        server.processing, server.change = 0, None
        server.reports_duplicates = False  # else no adjustment would be taken any more

    return recover
