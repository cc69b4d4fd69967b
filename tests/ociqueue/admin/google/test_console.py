"""The API path in the console: who may do what, checks of a login, and the way from a fault to its mending."""

from collections.abc import Callable

import pytest
from django.test import Client

from ociqueue.codes.entries import CLOSED_API
from ociqueue.models import Circuit, Credentials, Site
from ociqueue.states import Category, CircuitStatus, SyncMethod
from ociqueue.uploader.connection_test import check_requested
from ociqueue.uploader.upload_run import upload_due
from tests.support.credentials_form import FULL, is_rung, page_of, stored
from tests.support.uploads import account, states

pytestmark = pytest.mark.django_db(transaction=True)


# Who may


@pytest.fixture
def others(make_person: Callable[..., Client], site: Site) -> list[Client]:
    return [
        make_person("ali", role="viewer", sites={site: "admin"}),
        make_person("veli", role="admin", sites={site: "viewer"}),
    ]


def test_only_a_sites_admins_store_and_its_operators_check_and_probe(make_person, site, others) -> None:
    Credentials.objects.store(site, account())
    Site.objects.update(sync_method=SyncMethod.API)
    Circuit.objects.trip(site, code="X", category=Category.AUTH, reason="no")
    operator = make_person("can", role="operator", sites={site: "operator"})

    for viewer in others:
        shown = viewer.get(page_of(site)).content.decode() + viewer.get(page_of(site, "change")).content.decode()
        assert 'name="refresh_token"' not in shown
        assert "Check credentials" not in shown
        assert "Probe now" not in shown
        assert viewer.post(page_of(site), FULL).status_code == 403
        assert viewer.post(page_of(site, "credentials/check")).status_code == 403
        assert viewer.post(page_of(site, "circuit/probe")).status_code == 403
    assert operator.post(page_of(site), FULL).status_code == 403

    assert stored(site) == account()
    assert Credentials.objects.get().check_asked_at is None
    assert Circuit.objects.blocking().exists()
    assert operator.post(page_of(site, "credentials/check")).status_code == 302
    assert operator.post(page_of(site, "circuit/probe")).status_code == 302
    assert Credentials.objects.awaiting_check().exists()
    assert not Circuit.objects.blocking().exists()


# Checks


@pytest.mark.usefixtures("_worker")
def test_a_check_is_asked_for_waited_for_and_answered(google, make_person, api_site) -> None:
    operator = make_person(sites={api_site: "operator"})

    unasked = operator.get(page_of(api_site)).content.decode()
    asked = operator.post(page_of(api_site, "credentials/check"), follow=True).content.decode()
    assert is_rung("oci_check_credentials")
    check_requested()
    answered = operator.get(page_of(api_site)).content.decode()

    assert "have not been tested yet" in unasked
    assert "Requested, waiting for a worker" in asked
    assert 'hx-trigger="every 3s"' in asked
    assert 'hx-trigger="every 3s"' not in answered
    for words in ("Passed:", "Google accepts the refresh token.", "Satış accepts uploads."):
        assert words in answered
    assert "client-secret-word" not in answered
    assert google.logins == 1


def test_a_failed_check_says_what_failed(google, make_person, api_site) -> None:
    google.login = "invalid_grant"
    operator = make_person(sites={api_site: "operator"})

    operator.post(page_of(api_site, "credentials/check"))
    check_requested()

    shown = operator.get(page_of(api_site)).content.decode()
    assert "Failed:" in shown
    assert "create a new refresh token" in shown


def test_without_a_worker_the_page_says_so(make_person, api_site) -> None:
    operator = make_person(sites={api_site: "operator"})

    shown = operator.post(page_of(api_site, "credentials/check"), follow=True).content.decode()

    assert "no worker is running" in shown


def test_there_is_nothing_to_check_without_a_login(admin, site) -> None:
    answer = admin.post(page_of(site, "credentials/check"), follow=True)

    assert "No credentials are stored" in str(next(iter(answer.context["messages"])))


# From the fault to the mending


@pytest.mark.usefixtures("_worker")
def test_not_allowlisted_is_reported_in_full_and_a_probe_closes_it(google, make_person, api_site, make_rows) -> None:
    refusal = {"family": "not_allowlisted_error", "name": "CUSTOMER_NOT_ALLOWLISTED_FOR_THIS_FEATURE"}
    google.replies.append(lambda call: call.refuse("PERMISSION_DENIED", refusal))
    make_rows(api_site, count=3)
    operator = make_person(sites={api_site: "operator"})

    upload_due()
    admin = make_person("fatma", role="admin", sites={api_site: "admin"})
    assert page_of(api_site, "settings") in admin.get(page_of(api_site, "circuit")).text
    shown = [operator.get(page_of(api_site, name)).content.decode() for name in ("change", "circuit")]
    answer = operator.post(page_of(api_site, "circuit/probe"), follow=True)
    reported = [str(message) for message in answer.context["messages"]]
    assert is_rung("oci_upload")
    upload_due()

    for page in shown:
        assert CLOSED_API.hint.replace("'", "&#x27;") in page
        assert "Probe now" in page
    assert reported == ["The row with the fewest attempts is sent as the probe within seconds."]
    assert states(api_site) == ["COMPLETED"] * 3
    assert Circuit.objects.get().status == CircuitStatus.CLOSED
    closed = operator.get(page_of(api_site, "circuit"))
    assert "The circuit is closed" in closed.content.decode()
    (shown_circuit,) = closed.context["circuits"]
    assert [step.event.event_type for step in shown_circuit["timeline"]] == [
        "STATE_CLOSED",
        "PROBE_ASKED",
        "STATE_OPEN",
        "JOB_CREATED",
    ]
    assert shown_circuit["timeline"][1].event.actor == "operator:ayse"
