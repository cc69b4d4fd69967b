"""Circuits and adjustments: a fault of the account stops both queues, and either can be the probe."""

import pytest

from ociqueue.models import Adjustment, Circuit, Conversion, Credentials, UploadBatch
from ociqueue.states import SyncMethod
from ociqueue.uploader.circuits import is_outage
from ociqueue.uploader.upload_run import due_sites, upload_due
from tests.support.adjustments import adjustment_states, assert_google_ads_has_ours, retract
from tests.support.uploads import account, deny_permission, probe_and_upload

pytestmark = pytest.mark.django_db(transaction=True)

FAMILY = "conversion_adjustment_upload_error"


@pytest.fixture
def retracted(api_site, sold):
    """A conversion that Google has, and whose retraction waits."""
    retract(api_site, sold)
    return sold


def test_a_fault_of_the_account_opens_the_circuit_and_an_adjustment_is_the_probe(google, api_site, retracted) -> None:
    google.replies.append(deny_permission)
    upload_due()
    circuit = Circuit.objects.open().get()
    assert (circuit.site, circuit.action, circuit.code) == (api_site, "", "USER_PERMISSION_DENIED")
    row = Adjustment.objects.get()
    assert (row.status, row.attempt_count, row.attempts_forgiven) == ("RETRY", 1, 1)
    upload_due()
    assert len(google.calls) == 1

    probe_and_upload()

    assert not Circuit.objects.open().exists()
    assert UploadBatch.objects.latest("created_at").is_probe
    assert adjustment_states(retracted) == [("COMPLETED", "")]
    assert_google_ads_has_ours(google)


def test_a_conversion_is_the_probe_before_an_adjustment(google, api_site, retracted, make_rows) -> None:
    google.replies.append(deny_permission)
    upload_due()
    make_rows(api_site, "next")
    google.calls.clear()

    probe_and_upload()

    assert google.calls[0].field == "conversions"
    assert not Circuit.objects.open().exists()
    assert set(Conversion.objects.values_list("status", flat=True)) == {"COMPLETED"}
    assert adjustment_states(retracted) == [("COMPLETED", "")]


def test_a_fault_of_an_action_holds_back_its_name(google, api_site, retracted) -> None:
    google.errors[retracted.order_id] = [{"family": FAMILY, "name": "INVALID_CONVERSION_ACTION_TYPE"}]

    upload_due()

    assert Circuit.objects.open().get().action == retracted.action
    assert not due_sites().exists()


@pytest.fixture
def switched(api_site, retracted):
    """The site, which has switched to the Data Manager API and kept its developer token."""
    api_site.sync_method = SyncMethod.DATA_MANAGER
    api_site.save()
    Credentials.objects.store(api_site, account(developer_token="token"))
    return api_site


def test_a_site_of_the_data_manager_api_retracts_over_the_google_ads_api(google, switched, retracted) -> None:
    upload_due()

    assert adjustment_states(retracted) == [("COMPLETED", "")]
    assert google.calls[0].metadata["developer-token"] == "token"
    assert UploadBatch.objects.get(queue="adjustment").sender == SyncMethod.API
    assert google.books.count == 0
    assert_google_ads_has_ours(google)


def test_a_fault_there_does_not_stop_the_site(google, switched, retracted) -> None:
    google.replies.extend([deny_permission] * 3)

    upload_due()

    row = Adjustment.objects.get()
    assert (row.status, row.provider_error_code, row.attempts_forgiven) == ("RETRY", "USER_PERMISSION_DENIED", 0)
    assert row.next_retry_at > row.updated_at
    assert not Circuit.objects.open().exists()
    assert len(google.calls) == 1


def test_uploads_lost_there_are_no_outage_of_the_site(google, switched, retracted) -> None:
    google.replies.extend([lambda call: call.refuse("UNAVAILABLE")] * 2)
    for _ in range(2):
        upload_due()
        Adjustment.objects.update(next_retry_at=None)

    assert list(UploadBatch.objects.filter(queue="adjustment").values_list("is_lost", flat=True)) == [True, True]
    assert not is_outage(switched)
    assert not Circuit.objects.open().exists()
