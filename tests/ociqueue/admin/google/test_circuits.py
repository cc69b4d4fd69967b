"""Circuits and unknown outcomes, in the console and in the operators' API."""

from typing import Any

import pytest
from django.db.models.functions import Now
from django.test import Client

from kilit.workers.models import Heartbeat
from ociqueue.models import Circuit, Conversion, Credentials, Site
from ociqueue.states import Category, Disposition, SyncMethod
from ociqueue.uploader.results import RowResult
from ociqueue.uploader.settle import settle
from ociqueue.uploader.upload_run import SiteTurn, claim
from tests.support.api import Api
from tests.support.conversions import new_conversion
from tests.support.uploads import CONVERSIONS, SITES, html, row_page, sent, trip

pytestmark = pytest.mark.django_db


def probe(client: Client, site: Site) -> str:
    answer = client.post(f"{SITES}{site.pk}/circuit/probe/", follow=True)
    return " ".join(str(message) for message in answer.context["messages"])


# Circuits


def test_the_list_of_sites_tells_an_open_circuit_and_a_missing_login(admin_client, make_site, api_site) -> None:
    trip(api_site)
    trip(make_site(name="Back to the script"), reason="It was an API site")
    make_site(name="Without", sync_method=SyncMethod.API)

    shown = html(admin_client, SITES)

    assert shown.count("circuit open for less than a minute") == 1
    assert "INVALID_GRANT, probe in 9" in shown
    assert "INVALID_GRANT: The login was revoked." in shown
    assert shown.count("Nothing is sent until they are stored") == 1
    assert "API, no credentials" in shown
    assert "It was an API site" not in shown


def test_a_name_that_is_held_back_is_reported_by_name(admin_client, api_site) -> None:
    trip(api_site, action="Teklif", code="NO_CONVERSION_ACTION_FOUND", category=Category.VALIDATION)

    assert "Teklif: circuit open" in html(admin_client, SITES)
    for name in ("change", "circuit"):
        shown = html(admin_client, f"{SITES}{api_site.pk}/{name}/")
        assert "Conversions named Teklif wait: the circuit is open. NO_CONVERSION_ACTION_FOUND" in shown


def test_a_site_without_a_login_says_so(make_person, make_site) -> None:
    site, script = make_site(sync_method=SyncMethod.API), make_site()
    viewer = make_person(sites={site: "viewer", script: "viewer"})

    assert "has no credentials" in html(viewer, f"{SITES}{site.pk}/change/")
    assert "has no credentials" not in html(viewer, f"{SITES}{script.pk}/change/")
    assert f"{SITES}{script.pk}/circuit/" not in html(viewer, f"{SITES}{script.pk}/change/")
    assert "circuits do not apply" in html(viewer, f"{SITES}{script.pk}/circuit/")


def test_the_reply_to_a_probe_says_what_it_waits_for(make_person, make_conversion, api_site) -> None:
    operator = make_person(sites={api_site: "operator"})
    assert probe(operator, api_site) == "No circuit of Mobilya is open."
    trip(api_site, action="Teklif")
    make_conversion(api_site, action="Satış")

    assert probe(operator, api_site) == "No row is due: the next due row is sent as the probe."
    make_conversion(api_site, action="Teklif")
    assert probe(operator, api_site).startswith("No worker is running")
    Heartbeat.objects.create(name="w1", alive_at=Now())
    assert probe(operator, api_site) == "The row with the fewest attempts is sent as the probe within seconds."
    Credentials.objects.all().delete()
    assert probe(operator, api_site).startswith("The site has no credentials")
    Site.objects.update(is_paused=True, pause_reason="review")
    assert probe(operator, api_site).startswith("The site is paused")


def test_looking_at_the_probes_address_probes_nothing(make_person, api_site) -> None:
    trip(api_site)

    assert make_person(sites={api_site: "operator"}).get(f"{SITES}{api_site.pk}/circuit/probe/").status_code == 302

    assert Circuit.objects.blocking().exists()


def test_queue_stats_tell_the_circuit_and_the_missing_login(make_person, make_site, api_site) -> None:
    bare, script = make_site(sync_method=SyncMethod.API), make_site()
    circuit = trip(api_site)
    trip(script)
    trip(bare, action="Teklif")
    operator = Api(client=make_person(sites=dict.fromkeys((api_site, bare, script), "operator")))

    def reported(site: Site) -> Any:
        stats = operator.get("oci/queue-stats", siteId=site.public_id).json()
        return stats["circuit"], stats["needsCredentials"]

    shown = {
        "code": "INVALID_GRANT",
        "reason": "The login was revoked.",
        "openedAt": circuit.opened_at.isoformat(),
        "nextProbeAt": circuit.next_probe_at.isoformat(),
    }
    assert reported(api_site) == (shown, False)
    assert reported(bare) == (None, True)
    assert reported(script) == (None, False)


# Conversions


def test_an_unknown_outcome_is_shown_as_unknown(make_person, make_conversion, api_site) -> None:
    _, (in_flight,) = sent(api_site)
    batch, (ambiguous,) = sent(api_site)
    lost = RowResult(Disposition.RETRY, code="DEADLINE_EXCEEDED", category=Category.TRANSIENT, ambiguous=True)
    settle(batch.pk, [ambiguous], [lost])
    certain = make_conversion(api_site)
    viewer = make_person(sites={api_site: "viewer"})

    for row in (in_flight, ambiguous):
        assert "it was sent and no answer came; Google may have it" in html(viewer, row_page(row))
    assert "it was sent and no answer came" not in html(viewer, row_page(certain))
    assert html(viewer, CONVERSIONS).count("it was sent and no answer came") == 2
    rows = Api(client=viewer).get("oci/queue-rows", siteId=api_site.public_id).json()["rows"]
    assert {row["id"] for row in rows if row["outcomeUnknown"]} == {str(in_flight), str(ambiguous)}


def test_a_row_that_was_claimed_and_not_sent_is_certain(make_person, api_site) -> None:
    Conversion.objects.bulk_create([new_conversion(api_site)])
    claim(api_site, SiteTurn(Conversion.objects.all()))
    row = Conversion.objects.get()

    assert "it was sent and no answer came" not in html(make_person(sites={api_site: "viewer"}), row_page(row))


def test_a_row_says_what_it_waits_for(make_person, make_conversion, api_site) -> None:
    held, other = make_conversion(api_site, action="Teklif"), make_conversion(api_site)
    trip(api_site, action="Teklif", reason="No such action.")
    viewer = make_person(sites={api_site: "viewer"})

    open_circuit = "The circuit of Teklif is open. INVALID_GRANT: No such action. The next probe is sent at"
    assert open_circuit in html(viewer, row_page(held))
    assert "circuit of" not in html(viewer, row_page(other))
    assert html(viewer, CONVERSIONS).count("held back") == 1

    trip(api_site)
    Credentials.objects.all().delete()
    Site.objects.update(is_paused=True, pause_reason="review")
    shown = html(viewer, row_page(other))
    assert "The site&#x27;s circuit is open. INVALID_GRANT: The login was revoked. The next probe" in shown
    assert "has no credentials" in shown
    assert "The site is paused: review" in shown
    assert "No worker is running" in shown
    assert html(viewer, CONVERSIONS).count("held back") == 2


def test_what_google_said_is_on_the_rows_page(make_person, api_site) -> None:
    batch, rows = sent(api_site, count=2)
    accepted = RowResult(Disposition.ACCEPTED, request_id="request-77")
    reported = {"code": "EXPIRED_EVENT", "category": Category.VALIDATION, "message": "<i>too old</i>"}
    settle(batch.pk, rows, [accepted, RowResult(Disposition.FATAL, request_id="request-77", **reported)])
    viewer = make_person(sites={api_site: "viewer"})

    completed, failed = (html(viewer, row_page(row)) for row in rows)

    assert "request-77" in completed
    assert "Google confirmed this row." in completed
    for text in ("request-77", "EXPIRED_EVENT", "VALIDATION", "&lt;i&gt;too old&lt;/i&gt;"):
        assert text in failed
    answer = Api(client=viewer).get("oci/queue-rows", siteId=api_site.public_id, status="FAILED").json()
    assert answer["rows"][0]["providerRequestId"] == "request-77"
