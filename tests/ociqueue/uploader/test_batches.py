"""A later batch's failure never touches an earlier batch's rows, nor those still to come."""

import threading

import pytest
from django.db import connection
from django.db.models import Value

from ociqueue.models import Circuit, Conversion, Credentials
from ociqueue.states import Category
from ociqueue.uploader import upload_run
from ociqueue.uploader.circuits import sites_sharing_project
from ociqueue.uploader.upload_run import upload_due
from simulators.googleads.server import accept
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.django_db(transaction=True)

ROWS = 4  # of a batch


@pytest.fixture
def five_batches(api_site, make_rows, monkeypatch):
    """Rows for five batches of four instead of 2,000; returns a function that reads one of them."""
    rows = make_rows(api_site, count=5 * ROWS)
    monkeypatch.setattr(upload_run.SiteTurn, "__init__", _smaller(upload_run.SiteTurn.__init__))

    def batch(number: int) -> list[Conversion]:
        ids = [row.pk for row in rows[(number - 1) * ROWS : number * ROWS]]
        return list(Conversion.objects.filter(pk__in=ids).order_by("created_at"))

    return batch


def _smaller(init):
    def with_limit(self, rows, limit=ROWS, probe=None, **options):
        init(self, rows, limit, probe, **options)

    return with_limit


def quota(**reported):
    return {"family": "quota_error", "name": "RESOURCE_EXHAUSTED", "retry_seconds": 900, **reported}


def unavailable(call):
    call.refuse("UNAVAILABLE")


def exhausted(call):
    call.refuse("RESOURCE_EXHAUSTED", quota())


def late(call):
    call.refuse("DEADLINE_EXCEEDED")


def locked_out(call):
    call.refuse("UNAUTHENTICATED", {"family": "authentication_error", "name": "OAUTH_TOKEN_REVOKED"})


def cut(call):
    call.server.proxy.disconnect()
    return accept(call)


@pytest.mark.parametrize(
    ("fault", "reported"),
    [
        (unavailable, (Category.TRANSIENT, True, 0)),
        (late, (Category.TRANSIENT, True, 0)),
        (cut, (Category.TRANSIENT, True, 0)),
        (exhausted, (Category.RATE_LIMIT, False, 0)),
        (locked_out, (Category.AUTH, False, 1)),
    ],
)
def test_the_third_of_five_batches_fails_alone(google, five_batches, fault, reported) -> None:
    """Expected are the category, whether Google may have the rows, and attempts forgiven."""
    google.replies.extend([accept, accept, fault])

    upload_due()

    assert {row.status for row in five_batches(1) + five_batches(2)} == {"COMPLETED"}
    for row in five_batches(3):
        assert (row.provider_error_category, row.outcome_unknown, row.attempts_forgiven) == reported
        assert (row.status, row.attempt_count, row.open_batch_id) == ("RETRY", 1, None)
        assert row.next_retry_at
    others = five_batches(4) + five_batches(5)
    assert {row.status for row in others} <= {"QUEUED", "COMPLETED"}
    assert all(row.attempt_count == (row.status == "COMPLETED") for row in others)


def test_a_hiccup_does_not_stop_the_site_but_an_outage_does(google, five_batches) -> None:
    google.replies.extend([unavailable, accept, unavailable, unavailable])

    upload_due()

    assert len(google.calls) == 4
    assert {row.status for row in five_batches(2)} == {"COMPLETED"}
    assert {row.status for row in five_batches(5)} == {"QUEUED"}
    assert Circuit.objects.open().get().category == Category.TRANSIENT


def test_the_providers_own_delay_is_kept(google, api_site, five_batches, sql) -> None:
    """RESOURCE_EXHAUSTED says when; the site waits that long, and so do the rows."""
    google.replies.append(exhausted)

    upload_due()

    assert len(google.calls) == 1
    waits = sql(
        "SELECT extract(epoch FROM next_retry_at - now()) FROM offline_conversion_queue WHERE status = 'RETRY'"
        " UNION ALL SELECT extract(epoch FROM next_probe_at - now()) FROM ociqueue_circuit"
    )
    assert len(waits) == ROWS + 1
    assert all(880 < seconds < 1000 for (seconds,) in waits)


@pytest.mark.parametrize("seconds", [300_000_000_000, -5])
def test_a_delay_that_nobody_can_mean_is_bounded(google, api_site, make_rows, sql, seconds) -> None:
    """Ten thousand years fit into Google's answer, and in no column of ours."""
    make_rows(api_site, count=1)
    google.replies.append(lambda call: call.refuse("RESOURCE_EXHAUSTED", quota(retry_seconds=seconds)))

    upload_due()

    ((row, circuit),) = sql(
        "SELECT extract(epoch FROM next_retry_at - now()) / 3600, extract(epoch FROM next_probe_at - now()) / 3600"
        " FROM offline_conversion_queue, ociqueue_circuit"
    )
    assert 0 < row < 26.5
    assert 0 < circuit < 24.1


def test_a_limit_of_the_project_rests_every_site_that_shares_it(google, make_api_site, make_rows) -> None:
    first, second = make_api_site(name="first"), make_api_site(name="second")
    make_rows(first, count=1)
    google.replies.append(lambda call: call.refuse("RESOURCE_EXHAUSTED", quota(project=True)))

    upload_due()

    assert set(Circuit.objects.open().values_list("site__name", flat=True)) == {first.name, second.name}


def test_logins_of_all_sites_are_decrypted_once_for_all_limits_of_a_project(make_api_site, monkeypatch) -> None:
    sites = [make_api_site(name=name) for name in "abc"]
    decrypted = count_calls(monkeypatch, Credentials, "account")

    for site in sites:
        assert len(list(sites_sharing_project(site))) == 2

    assert len(decrypted) == 3


def count_calls(monkeypatch, owner: type, name: str) -> list[object]:
    calls, original = [], getattr(owner, name)
    monkeypatch.setattr(owner, name, lambda self: (calls.append(self), original(self))[1])
    return calls


def test_one_sites_trouble_is_no_other_sites(google, make_api_site, make_rows) -> None:
    troubled, fine = make_api_site(name="troubled"), make_api_site(name="fine")
    make_rows(troubled, count=3)
    make_rows(fine, count=3)
    google.replies.append(locked_out)

    upload_due()

    done = {site: set(site.conversions.values_list("status", flat=True)) for site in (troubled, fine)}
    assert sorted(map(sorted, done.values())) == [["COMPLETED"], ["RETRY"]]


@pytest.mark.slow  # takes seconds: many rows, many rounds or a wait
def test_backoff_doubles_up_to_a_day_and_the_eighth_attempt_is_the_last(google, api_site, make_rows, sql) -> None:
    """Min(5 min · 2ⁿ, 24 h) with jitter; cap 8 on this path."""
    (row,) = make_rows(api_site, "always-passing")
    google.errors["always-passing"] = [{"family": "internal_error", "name": "TRANSIENT_ERROR"}]
    waits = []
    for _ in range(8):
        sql("UPDATE offline_conversion_queue SET next_retry_at = NULL")
        upload_due()
        waits += sql("SELECT extract(epoch FROM next_retry_at - updated_at) / 60 FROM offline_conversion_queue")

    row.refresh_from_db()
    assert len(waits) == 8
    for number, (minutes,) in enumerate(waits[:-1]):
        assert 0.99 < minutes / (5 * 2**number) < 1.11
    assert (row.status, row.provider_error_code, row.attempt_count) == ("FAILED", "MAX_ATTEMPTS", 8)
    assert len(google.calls) == 8


@pytest.mark.parametrize(("chance", "longest"), [(0.0, 24.0), (1.0, 26.4)])
def test_the_longest_wait_is_a_day_and_at_most_a_tenth_more(
    google, api_site, make_rows, sql, settings, *, monkeypatch, chance: float, longest: float
) -> None:
    monkeypatch.setattr("kilit.lock.attempts.Random", lambda: Value(chance))
    settings.API_MAX_ATTEMPTS = 100  # the default of 8 fails a row before its backoff reaches a day
    make_rows(api_site, "passing", attempt_count=40)
    google.errors["passing"] = [{"family": "internal_error", "name": "TRANSIENT_ERROR"}]

    upload_due()

    ((hours,),) = sql("SELECT extract(epoch FROM next_retry_at - updated_at) / 3600 FROM offline_conversion_queue")
    assert float(hours) == pytest.approx(longest, abs=0.01)


def test_nothing_is_open_in_the_database_while_google_is_asked(google, api_site, make_rows, sql) -> None:
    """No transaction during the call."""
    make_rows(api_site, count=2)
    asked, go_on = threading.Event(), threading.Event()

    def look(call):
        asked.set()
        go_on.wait(PATIENCE)
        return accept(call)

    google.replies.append(look)
    uploading = threading.Thread(target=_upload_and_close)
    uploading.start()
    assert asked.wait(PATIENCE)
    seen = sql(
        "SELECT state FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
    )
    go_on.set()
    uploading.join(PATIENCE)

    assert seen
    assert {state for (state,) in seen} == {"idle"}
    assert Conversion.objects.filter(status="COMPLETED").count() == 2


def _upload_and_close() -> None:
    upload_due()
    connection.close()
