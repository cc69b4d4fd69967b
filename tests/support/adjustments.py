"""Adjustments as a caller of the API asks for them, and what the Data Manager simulator has of them."""

import json
from datetime import timedelta
from typing import Any

from django.db.models.functions import Now

from ociqueue.intake.adjustments import adjust
from ociqueue.models import Adjustment, Conversion, Site
from ociqueue.operating.sweeps import recover_processing
from ociqueue.reconcile.self_check import check_uploads
from ociqueue.uploader.upload_run import upload_due
from ociqueue.uploader.verdict_run import ask_for_verdicts
from simulators.datamanager.server import DataManagerServer
from tests.support.later_provider import make_due, send


def restate(site: Site, row: Conversion, value: Any, **fields: Any) -> Any:
    return adjust(site, [{"id": str(row), "kind": "RESTATEMENT", "value": value, **fields}])[0]


def retract(site: Site, row: Conversion, **fields: Any) -> Any:
    return adjust(site, [{"id": str(row), "kind": "RETRACTION", **fields}])[0]


def adjustment_states(row: Conversion) -> list[tuple[str, str]]:
    found = Adjustment.objects.filter(original=row).order_by("adjusted_at")
    return list(found.values_list("status", "provider_error_code"))


def take_back() -> None:
    """Let the sweep take rows back from an uploader that died."""
    for model in (Conversion, Adjustment):
        model.objects.filter(status="PROCESSING").update(claimed_at=Now() - timedelta(hours=1))
    recover_processing()


def end_everything(site: Site) -> None:
    """Run every task after its time, twice, as a row may be recovered, sent and judged."""
    for _ in range(2):
        take_back()
        due_again()
        send(site)
        make_due()
        ask_for_verdicts()


def sent_values(data_manager: DataManagerServer, row: Conversion) -> list[float]:
    """Return the values that came for a conversion, in their order."""
    entry = data_manager.entries.get(row.order_id)
    return [json.loads(event)["conversionValue"] for event in entry.events] if entry else []


def assert_books_are_ours(data_manager: DataManagerServer) -> None:
    """What Google counts is each conversion that is COMPLETED, once, with its last adjustment that is."""
    ours = {}
    for row in Conversion.objects.filter(status="COMPLETED"):
        last = row.adjustments.filter(status="COMPLETED").order_by("adjusted_at").last()
        value, currency = (last.value or 0, last.currency) if last else (row.value, row.currency)
        ours[row.order_id] = [(float(value), currency or row.currency)]
    assert check_uploads() == "Uploads that do not add up: 0."
    assert {key[2]: data_manager.values_of(key[2]) for key in data_manager.counted} == ours


def assert_google_ads_has_ours(google: Any) -> None:
    """The same for the books of the Google Ads API, where a retraction removes the conversion."""
    ours = {}
    for row in Conversion.objects.filter(status="COMPLETED"):
        last = row.adjustments.filter(status="COMPLETED").order_by("adjusted_at").last()
        if last is None or not last.is_retraction:
            ours[row.order_id] = (last or row).value
    assert (google.books.count, google.books.value) == (len(ours), sum(value or 0 for value in ours.values()))
    counted = {order_id: one.value for (order_id, _), one in google.books.counted.items() if not one.is_retracted}
    assert counted == ours


def restate_80(site: Site, row: Conversion) -> Any:
    return restate(site, row, 80)


def applied_but_late(call: Any) -> None:
    """Apply a request at Google, and lose the answer."""
    call.accept()
    call.refuse("DEADLINE_EXCEEDED")


def due_again() -> None:
    for model in (Conversion, Adjustment):
        model.objects.update(next_retry_at=None)


def upload_again() -> None:
    """Upload what was deferred, too."""
    due_again()
    upload_due()


def sent_adjustments(google: Any) -> list[bytes]:
    """Return the adjustments that came, without our number of the upload, which is new each time."""
    found = []
    for call in google.calls:
        if call.field == "conversion_adjustments":
            call.request.ClearField("job_id")
            found.append(call.request.SerializeToString())
    return found
