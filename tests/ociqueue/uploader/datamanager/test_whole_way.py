"""From the queue to Google's verdict and back, with the real provider and a server whose books we compare with ours."""

from collections import Counter

import pytest

from ociqueue.models import Conversion, Receipt, UploadBatch
from ociqueue.uploader.upload_run import upload_due
from simulators.datamanager import statuses
from simulators.datamanager.refusals import GoogleRefusal
from simulators.datamanager.server import cut_after, cut_before, refuse

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]  # many rows, and every answer there is

AT_ONCE = ("INVALID_FORMAT", "EVENT_TIME_INVALID", "INVALID_CURRENCY_CODE")
LATER = ("CLICK_NOT_FOUND", "EXPIRED_CLICK", "INVALID_GCLID", "CONVERSION_PRECEDES_CLICK")


@pytest.fixture
def until_settled(work):
    def run() -> None:
        for _ in range(10):
            work()
            if not Conversion.objects.exclude(status__in=("COMPLETED", "FAILED")).exists():
                return
        raise AssertionError(Counter(Conversion.objects.values_list("status", flat=True)))

    return run


@pytest.fixture
def mixed_site(dm_site, make_rows):
    """A site with good rows, among them some that are bad at once and some whose verdict is bad."""

    def make(good: int, at_once: int, later: int):
        bad = [f"REFUSE-{AT_ONCE[number % 3]}-{number}" for number in range(at_once)]
        bad += [f"FAIL-{LATER[number % 4]}-{number}" for number in range(later)]
        clicks = [f"click-{number}" for number in range(good)]
        for number, click_id in enumerate(bad):
            clicks.insert(number * 19 % (good + number), click_id)
        make_rows(dm_site, *clicks)
        return dm_site

    return make


@pytest.mark.parametrize(
    ("change", "size"),
    [
        (None, (1900, 40, 60)),
        # Each row of these goes alone in the second round: fewer, because each needs a request.
        (statuses.without_indices, (60, 4, 6)),
        (statuses.without_error_counts, (10, 0, 4)),
        (statuses.out_of_range, (10, 0, 8)),
        (statuses.descending, (10, 0, 8)),
        (statuses.wrong_record_count, (10, 0, 4)),
        (statuses.wrong_error_count, (10, 0, 4)),
        (statuses.repeated_index, (10, 0, 8)),
        (statuses.failed_instead_of_partial, (10, 0, 4)),
        (statuses.success_with_errors, (10, 0, 4)),
    ],
)
@pytest.mark.by_day(3)
def test_exactly_the_bad_rows_fail_each_with_its_reason(data_manager, mixed_site, until_settled, change, size) -> None:
    site = mixed_site(*size)

    def only_together(status):
        if change and int(status["eventsIngestionStatus"]["recordCount"]) > 1:
            change(status)

    data_manager.change = only_together
    until_settled()

    ended = {row.gclid: row for row in Conversion.objects.for_site(site)}
    assert len(ended) == sum(size)
    for row in ended.values():
        kind, _, rest = row.gclid.partition("-")
        reason = rest.rpartition("-")[0] if kind in ("REFUSE", "FAIL") else ""
        assert (row.status, row.provider_error_code) == ("FAILED" if reason else "COMPLETED", reason), row.gclid
        entry = data_manager.entries.get(row.order_id)
        assert (row.order_id in data_manager.applied) == (row.status == "COMPLETED")
        # A status that cannot be right is not used at all: then each row goes alone, once, with the same bytes.
        assert not entry or (len(entry.events) == (2 if change else 1) and len(set(entry.events)) == 1)
        assert row.status == "FAILED" or row.provider_request_id in entry.request_ids
    assert all(row.uploaded_at for row in ended.values() if row.status == "COMPLETED")
    if change is None:
        assert len(data_manager.uploads) == 2, "one that was refused, and one without the bad rows"
    assert not Receipt.objects.open().exists()


@pytest.mark.parametrize("lost", [cut_before, cut_after, refuse(GoogleRefusal("INTERNAL"))])
def test_without_an_answer_the_same_bytes_go_again(data_manager, dm_site, make_rows, until_settled, lost) -> None:
    make_rows(dm_site, count=3)
    data_manager.reports_duplicates = True  # as one of Google's documents says; the other one says nothing comes
    data_manager.replies.append(lost)

    upload_due()
    assert set(dm_site.conversions.values_list("status", "outcome_unknown")) == {("RETRY", True)}
    until_settled()

    first, second = data_manager.uploads
    assert first.body == second.body
    assert set(dm_site.conversions.values_list("status", "outcome_unknown")) == {("COMPLETED", False)}
    assert data_manager.applied == set(dm_site.conversions.values_list("order_id", flat=True))


def test_two_sites_never_meet_in_a_request(data_manager, make_dm_site, make_rows, until_settled) -> None:
    sites = [make_dm_site(name=name) for name in ("One", "Two")]
    for site in sites:
        make_rows(site, count=5)

    until_settled()

    assert UploadBatch.objects.count() == len(data_manager.uploads) == 2
    for site in sites:
        ours = set(site.conversions.values_list("order_id", flat=True))
        assert sum(ours == set(request.transaction_ids) for request in data_manager.requests.values()) == 1
