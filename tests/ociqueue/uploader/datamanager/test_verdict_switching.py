"""A site moves between script, Google Ads API and Data Manager API: no row is lost, and none has two senders."""

from collections.abc import Callable
from datetime import timedelta
from itertools import permutations

import pytest
from django.db.models import Q
from django.db.models.functions import Now

from kilit.lock.models import Event
from ociqueue.models import Conversion, Receipt, Site
from ociqueue.models.conversion import ConversionQuerySet
from ociqueue.states import ENDED, SyncMethod
from ociqueue.uploader import upload_run
from ociqueue.uploader.providers import provider_for
from ociqueue.uploader.upload_run import SiteTurn, claim, mark_sent
from ociqueue.uploader.verdict_run import ask_for_verdicts
from tests.support.adjustments import end_everything
from tests.support.later_provider import GOOGLE, make_due, run_script, send
from tests.support.uploads import change_sender

SCRIPT, API, DATA_MANAGER = SyncMethod.SCRIPT, SyncMethod.API, SyncMethod.DATA_MANAGER
Arrange = Callable[[Site], object]


def rows_of_site(site: Site) -> ConversionQuerySet:
    return Conversion.objects.for_site(site)


def fail(site: Site) -> None:
    rows_of_site(site).mark_failed()


def wait_for_retry(site: Site) -> None:
    Conversion.objects.claim(limit=1) if site.sync_method == SCRIPT else claim(site, SiteTurn(rows_of_site(site)))
    Conversion.objects.update(claimed_at=Now() - timedelta(hours=1))
    Conversion.objects.recover()


def claim_only(site: Site) -> None:
    """Claim as the site's sender, which dies before it sends or reports."""
    Conversion.objects.claim(limit=1) if site.sync_method == SCRIPT else claim(site, SiteTurn(rows_of_site(site)))


def send_without_answer(site: Site) -> None:
    if site.sync_method == SCRIPT:
        claim_only(site)
    else:
        mark_sent(*claim(site, SiteTurn(rows_of_site(site))))


def complete(site: Site) -> None:
    send(site)
    make_due()
    ask_for_verdicts()


STATES: dict[str, tuple[Arrange, str]] = {
    "QUEUED": (lambda _site: None, "QUEUED"),
    "RETRY": (wait_for_retry, "RETRY"),
    "claimed": (claim_only, "PROCESSING"),
    "sent": (send_without_answer, "PROCESSING"),
    "COMPLETED": (complete, "COMPLETED"),
    "FAILED": (fail, "FAILED"),
}
CASES = [
    *((state, *pair) for state in STATES for pair in permutations((SCRIPT, API, DATA_MANAGER), 2)),
    ("UPLOADED", DATA_MANAGER, SCRIPT),
    ("UPLOADED", DATA_MANAGER, API),
]


@pytest.mark.django_db
@pytest.mark.parametrize("case", CASES, ids=" ".join)
@pytest.mark.by_day(10)
def test_a_row_in_any_state_survives_the_change(senders, make_dm_site, make_rows, case) -> None:
    state, before, after = case
    site = make_dm_site(sync_method=before)
    (row,) = make_rows(site, "one")
    arrange, status = STATES.get(state, (send, "UPLOADED"))
    arrange(site)
    row.refresh_from_db()
    assert row.status == status
    senders.log.clear()

    change_sender(site, after)
    send(site)
    row.refresh_from_db()
    if status in ("PROCESSING", "UPLOADED", *ENDED):
        assert (row.status, senders.log) == (status, []), "what a sender holds stays with it, and what ended has ended"

    end_everything(site)

    row.refresh_from_db()
    assert row.status == ("FAILED" if state == "FAILED" else "COMPLETED")
    by_new_sender = [] if state in ("COMPLETED", "FAILED", "UPLOADED") else [(after, "one")]
    assert (senders.log, senders.conflicts) == (by_new_sender, [])


ROWS = 120
ROUNDS = range(1000)  # more than enough: each worker stops when every row has ended


def is_over() -> bool:
    return not Conversion.objects.filter(~Q(status__in=ENDED)).exists()


def change_senders(site: Site, number: int) -> None:
    change_sender(site, (DATA_MANAGER, SCRIPT, DATA_MANAGER, API)[number % 4])


def upload_some(site: Site, number: int) -> None:
    """Upload a few rows as the sender that the site has, or had a moment ago."""
    mine = Site.objects.get(pk=site.pk)
    if mine.sync_method == SCRIPT:
        return
    provider = provider_for(mine)
    batch, rows = claim(mine, SiteTurn(rows_of_site(mine), limit=3 + number % 3))
    if rows := mark_sent(batch, rows):
        upload_run.settle(batch, rows, provider.upload(rows, dry_run=False))


def run_some_of_the_script(site: Site, _number: int) -> None:
    run_script(site, limit=4)


def ask_and_let_time_pass(_site: Site, _number: int) -> None:
    make_due()
    ask_for_verdicts()
    GOOGLE.reasons = {}
    Conversion.objects.filter(status="RETRY").update(next_retry_at=None)


@pytest.mark.django_db(transaction=True)
def test_a_site_changes_its_sender_again_and_again_under_load(senders, dm_site, make_rows, in_threads) -> None:
    """Two uploaders, a script and the verdict task work while the sender changes; some verdicts are no proof."""
    make_rows(dm_site, count=ROWS)
    senders.reasons = {f"click-{number}": ["INTERNAL_ERROR"] for number in range(0, ROWS, 7)}
    work = [change_senders, upload_some, upload_some, run_some_of_the_script, ask_and_let_time_pass]

    def work_until_all_ended(worker: int) -> None:
        for number in ROUNDS:
            work[worker](dm_site, number)
            if is_over():
                return

    in_threads(work_until_all_ended, count=len(work))

    assert GOOGLE.conflicts == []
    assert set(Conversion.objects.values_list("status", flat=True)) == {"COMPLETED"}
    completed = Event.objects.filter(queue="conversion", to_state="COMPLETED").values_list("object_id", flat=True)
    assert len(completed) == len(set(completed)) == ROWS
    assert not Event.objects.filter(queue="conversion", event_type="LATE_ANSWER").exists()
    assert not Receipt.objects.open().exists()
    assert len({sender for sender, _click in GOOGLE.log}) > 1, "more than one sender had its turn"
