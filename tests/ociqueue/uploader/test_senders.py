"""A site has one sender at a time, and can change it without a row being sent by both."""

from datetime import timedelta

import pytest
from django.db.models.functions import Now

from kilit.lock.models import Event
from ociqueue.models import Conversion, Credentials, UploadBatch
from ociqueue.states import SyncMethod
from ociqueue.uploader import upload_run
from ociqueue.uploader.providers import provider_for
from ociqueue.uploader.upload_run import upload_due
from tests.support.api import Api
from tests.support.uploads import account, change_sender, next_turn, states

pytestmark = pytest.mark.django_db(transaction=True)


def claimed_ago(**span: int) -> None:
    Conversion.objects.filter(status="PROCESSING").update(claimed_at=Now() - timedelta(**span))


@pytest.fixture
def moving_site(make_site):
    site = make_site()
    Credentials.objects.store(site, account())
    return site


def test_what_a_script_holds_stays_with_it_when_its_site_moves_to_the_api(
    google, moving_site, make_rows, site_key
) -> None:
    make_rows(moving_site, count=4)
    script = Api(site_key(moving_site))
    held = script.claim(moving_site, limit=2)

    change_sender(moving_site, SyncMethod.API)
    upload_due()

    sent = [row.order_id for call in google.calls for row in call.request.conversions]
    assert len(sent) == 2
    assert not {item["orderId"] for item in held} & set(sent)
    answer = script.post("oci/ack", {"siteId": moving_site.public_id, "queueIds": [item["id"] for item in held]})
    assert answer.json()["updated"] == 2
    assert states(moving_site) == ["COMPLETED"] * 4


def test_a_script_that_may_still_run_is_not_taken_for_dead(google, moving_site, make_rows, site_key) -> None:
    """A script may run for half an hour; on a site that has moved, recover waits until it is surely dead."""
    make_rows(moving_site, count=1)
    Api(site_key(moving_site)).claim(moving_site)
    change_sender(moving_site, SyncMethod.API)

    claimed_ago(minutes=40)
    assert Conversion.objects.recover() == 0
    claimed_ago(minutes=46)
    assert Conversion.objects.recover() == 1

    row = Conversion.objects.get()
    assert row.outcome_unknown, "the script may have uploaded it before it died"
    google.applied[row.order_id] = b"by the script"
    upload_due()
    row.refresh_from_db()
    assert row.status == "COMPLETED"


def test_a_late_script_cannot_settle_what_an_upload_holds(google, moving_site, make_rows, site_key) -> None:
    """Rule 4: the script's ack comes while the row is with the uploader; proof decides, not the script."""
    (row,) = make_rows(moving_site, "bad")
    script = Api(site_key(moving_site))
    (item,) = script.claim(moving_site)
    change_sender(moving_site, SyncMethod.API)
    claimed_ago(minutes=46)
    Conversion.objects.recover()
    google.errors["bad"] = [{"family": "conversion_upload_error", "name": "EXPIRED_EVENT"}]

    batch, rows = upload_run.claim(moving_site, next_turn(moving_site))
    for path in ("oci/ack", "oci/ack-failed"):
        body = {"siteId": moving_site.public_id, "queueIds": [item["id"]], "errorCategory": "VALIDATION"}
        reported = script.post(path, body).json()
        assert (reported["updated"], reported["ignored"]) == (0, [{"id": item["id"], "status": "PROCESSING"}])
    results = upload_run.send(provider_for(moving_site), upload_run.mark_sent(batch, rows))
    upload_run.settle(batch, rows, results)

    row.refresh_from_db()
    assert (row.status, row.provider_error_code) == ("FAILED", "EXPIRED_EVENT")
    assert Event.objects.of(row).filter(event_type__startswith="LATE").count() == 2


def test_what_an_upload_holds_stays_with_it_when_its_site_moves_to_a_script(
    google, api_site, make_rows, site_key
) -> None:
    make_rows(api_site, count=2)
    script = Api(site_key(api_site))

    provider = provider_for(api_site)
    batch, rows = upload_run.claim(api_site, next_turn(api_site))
    change_sender(api_site, SyncMethod.SCRIPT)
    handed_out = script.claim(api_site)
    results = upload_run.send(provider, upload_run.mark_sent(batch, rows))
    upload_run.settle(batch, rows, results)

    assert handed_out == []
    assert states(api_site) == ["COMPLETED"] * 2
    assert UploadBatch.objects.get().accepted == 2


def test_the_claim_itself_knows_the_sender(google, make_site, make_rows) -> None:
    """The question is part of the claim, so that no request that began before the change claims after it."""
    script, api = make_site(name="s"), make_site(name="a", sync_method=SyncMethod.API)
    make_rows(script, "one")
    make_rows(api, "two")

    by_script = Conversion.objects.all().claim(limit=10)
    assert [row.gclid for row in by_script] == ["one"]
    assert not Conversion.objects.filter(site=script).claim(
        limit=10, batch=UploadBatch(site=api).pk, sender=SyncMethod.API
    )


def test_a_paused_site_is_not_claimed(google, make_site, make_rows) -> None:
    site = make_site(is_paused=True, pause_reason="holiday")
    make_rows(site, "one")

    assert Conversion.objects.for_site(site).claim(limit=1) == []


@pytest.mark.parametrize(("verb", "ends"), [("reset_to_queued", "QUEUED"), ("mark_failed", "FAILED")])
def test_an_operator_who_takes_a_row_from_a_sender_leaves_its_outcome_unknown(
    google, make_site, make_rows, verb, ends
) -> None:
    site = make_site()
    (row,) = make_rows(site, "one")
    Conversion.objects.for_site(site).claim(limit=1)

    getattr(Conversion.objects.filter(pk=row.pk), verb)()

    row.refresh_from_db()
    assert (row.status, row.outcome_unknown) == (ends, True)
