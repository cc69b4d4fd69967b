"""Finding the rows that Google rejects without naming them: the others pass, and a bad request costs no attempt."""

import pytest

from ociqueue.models import Circuit, Conversion
from ociqueue.states import Category
from ociqueue.uploader.googleads import provider as connection
from ociqueue.uploader.upload_run import upload_due
from simulators.googleads.server import accept
from tests.support.uploads import states

pytestmark = pytest.mark.django_db(transaction=True)


def picky(call):
    if any(row.gclid.startswith("poison") for row in call.request.conversions):
        call.refuse("INVALID_ARGUMENT")
    return accept(call)


def due_again() -> None:
    Conversion.objects.update(next_retry_at=None)
    Circuit.objects.all().probe_now()


@pytest.mark.parametrize(
    "fault",
    [
        ("UNIMPLEMENTED",),
        ("INVALID_ARGUMENT",),
        ("INVALID_ARGUMENT", {"family": "request_error", "name": "INVALID_CUSTOMER_ID"}),
    ],
)
def test_a_fault_of_the_request_does_not_fail_a_lonely_row(google, api_site, make_rows, fault) -> None:
    """A low-volume site sends one row at a time; nothing proves that it is the row."""
    (row,) = make_rows(api_site, "lonely")
    google.replies.append(lambda call: call.refuse(*fault))

    upload_due()

    row.refresh_from_db()
    assert (row.status, row.attempt_count, row.attempts_forgiven) == ("RETRY", 1, 1)
    assert Circuit.objects.open().exists()


def test_a_lonely_poison_row_comes_to_an_end_and_starves_nobody(google, api_site, make_rows) -> None:
    """It probes its own circuit, and pays for that; a good row closes the circuit meanwhile."""
    make_rows(api_site, "poison")
    google.replies.extend([picky] * 100)
    upload_due()
    for _ in range(8):
        due_again()
        upload_due()

    assert states(api_site) == ["FAILED"]
    assert Conversion.objects.get().provider_error_code == "MAX_ATTEMPTS"


def test_a_half_that_was_lost_stays_unknown(google, api_site, make_rows) -> None:
    """Google applied the first half, and its answer was lost: what it says next must not fail those rows."""

    def applied_but_lost(call):
        accept(call)
        call.refuse("UNAVAILABLE")

    make_rows(api_site, "a", "b", "c", "poison")
    google.replies.extend([picky, applied_but_lost, *[picky] * 20])

    upload_due()

    assert set(Conversion.objects.filter(outcome_unknown=True).values_list("gclid", flat=True)) == {"a", "b"}
    due_again()
    upload_due()
    ended = dict(Conversion.objects.values_list("gclid", "status"))
    assert ended == {"a": "COMPLETED", "b": "COMPLETED", "c": "COMPLETED", "poison": "FAILED"}


def test_a_batch_whose_time_is_over_waits_and_pays(google, api_site, make_rows, settings, monkeypatch) -> None:
    """Otherwise a slow rejection would be sent again and again."""

    def slowly(call):
        monkeypatch.setattr(connection, "SHORTEST_CALL", settings.GOOGLE_ADS_TIMEOUT)  # what is left is less
        call.refuse("INVALID_ARGUMENT")

    make_rows(api_site, count=4)
    google.replies.extend([slowly] * 10)

    upload_due()

    assert len(google.calls) == 1
    assert set(Conversion.objects.values_list("status", "attempts_forgiven")) == {("RETRY", 0)}


def test_an_expired_token_is_renewed_once(google, api_site, make_rows) -> None:
    make_rows(api_site, "one")
    expired = {"family": "authentication_error", "name": "OAUTH_TOKEN_EXPIRED"}
    google.replies.append(lambda call: call.refuse("UNAUTHENTICATED", expired))

    upload_due()

    assert states(api_site) == ["COMPLETED"]
    assert (google.logins, len(google.calls)) == (2, 2)
    assert not Circuit.objects.open().exists()


@pytest.mark.parametrize(
    ("rows", "poison"),
    [(11, [9]), (40, [3, 15, 35]), pytest.param(64, range(0, 64, 8), marks=pytest.mark.slow)],
    ids=["one", "several", "in every part"],
)
def test_poison_rows_are_found_and_the_others_pass(google, api_site, make_rows, rows, poison) -> None:
    """A request rejected without an index is halved until the invalid row is alone."""
    make_rows(api_site, *[f"poison-{number}" if number in poison else f"row-{number}" for number in range(rows)])
    google.replies.extend([picky] * 200)

    upload_due()

    assert states(api_site) == ["FAILED" if number in poison else "COMPLETED" for number in range(rows)]
    assert not Circuit.objects.open().exists()


def test_a_request_that_is_refused_whatever_is_in_it_opens_the_circuit_and_harms_no_row(
    google, api_site, make_rows
) -> None:
    make_rows(api_site, count=100)
    google.replies.extend([lambda call: call.refuse("INVALID_ARGUMENT")] * 200)

    upload_due()

    assert len(google.calls) == 1 + 2 + 4 + 8 + 3 * 2, "and one part down to a single row"
    assert set(states(api_site)) == {"RETRY"}
    assert set(Conversion.objects.values_list("attempts_forgiven", flat=True)) == {1}
    assert Circuit.objects.open().get().category == Category.VALIDATION


@pytest.mark.parametrize("hiccup", ["UNAVAILABLE", "PERMISSION_DENIED"])
@pytest.mark.parametrize("rows", [2, 40])
def test_a_hiccup_while_halving_proves_nothing_against_the_other_rows(
    google, api_site, make_rows, rows, hiccup
) -> None:
    """The account is at fault and one answer was lost; Google has looked at no row, so none may fail."""
    make_rows(api_site, count=rows)
    refuse = [lambda call: call.refuse("INVALID_ARGUMENT")]
    google.replies.extend([*refuse * 2, lambda call: call.refuse(hiccup), *refuse * 100])

    upload_due()

    assert set(states(api_site)) == {"RETRY"}
    assert len(google.calls) < 30, "one part alone is looked into"
    assert Circuit.objects.open().exists()


def test_time_that_runs_out_while_halving_proves_nothing_either(
    google, api_site, make_rows, settings, monkeypatch
) -> None:
    def slowly(call):
        if len(google.calls) == 2:
            monkeypatch.setattr(connection, "SHORTEST_CALL", settings.GOOGLE_ADS_TIMEOUT)  # what is left is less
        call.refuse("INVALID_ARGUMENT")

    make_rows(api_site, count=2)
    google.replies.extend([slowly] * 10)

    upload_due()

    assert len(google.calls) == 2
    assert states(api_site) == ["RETRY", "RETRY"]
