"""Archived sites: hidden, their keys denied, their rows kept, and brought back."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import IntegrityError, connection
from django.db.models.functions import Now
from django.test import Client

from kilit.lock.audit import acting_as
from kilit.lock.models import Event
from kilit.sites.models import Tenant
from kilit.sites.operations import ARCHIVE, run_where_possible
from ociqueue.models import Conversion, Site
from tests.support.api import Api
from tests.support.conversions import make_failed

pytestmark = pytest.mark.django_db

LIST = "/admin/ociqueue/site/"
ACTIONS = f"{LIST}actions/"


@pytest.fixture
def archived(make_site: Callable[..., Site]) -> Site:
    site = make_site(name="Eski Mobilya", customer_id="1234567890")
    Tenant.objects.filter(pk=site.pk).archive(reason="The contract ended.")
    site.refresh_from_db()
    return site


def act(client: Client, action: str, *sites: Site, **more: str) -> Any:
    ids = ",".join(str(site.pk) for site in sites)
    return client.post(ACTIONS, {"action": action, "sites": ids, "confirmed": "1", **more}, follow=True)


def test_an_archived_site_is_paused_and_its_archiving_is_an_event(site: Site) -> None:
    with acting_as("admin:ayse"):
        Tenant.objects.archive(reason="The contract ended.")
        Tenant.objects.restore()

    site.refresh_from_db()
    assert (site.archived_at, site.is_paused, site.pause_reason) == (None, True, "The contract ended.")
    events = Event.objects.filter(queue="site", object_id=site.pk).order_by("id")
    assert sorted(events.values_list("event_type", "actor")) == [
        ("SITE_ARCHIVED", "admin:ayse"),
        ("SITE_PAUSED", "admin:ayse"),
        ("SITE_RESTORED", "admin:ayse"),
    ]


def test_the_database_refuses_an_archived_site_that_is_not_paused(archived: Site) -> None:
    with pytest.raises(IntegrityError, match="archived_is_paused"), connection.cursor() as cursor:
        cursor.execute("UPDATE sites_tenant SET is_paused = false")


def test_resuming_leaves_an_archived_site_alone(archived: Site) -> None:
    assert Tenant.objects.resume() == 0


@pytest.mark.parametrize("state", ["QUEUED", "PROCESSING"])
def test_a_site_with_open_rows_is_not_archived(site: Site, make_conversion: Any, admin_user: User, state: str) -> None:
    make_conversion(site)
    if state == "PROCESSING":
        Conversion.objects.for_site(site).claim(limit=1)

    assert run_where_possible(ARCHIVE, admin_user, [site.pk], reason="Over.") == set()

    site.refresh_from_db()
    assert site.archived_at is None
    assert not site.is_paused


def test_keys_of_an_archived_site_are_denied_with_the_reason(site: Site, api: Api) -> None:
    Tenant.objects.archive(reason="Over.")

    export = api.get("oci/google-ads-export", siteId=site.public_id, markAsExported="true")
    stored = api.post("oci/conversions", {"siteId": site.public_id, "conversions": [{}]})

    for answer in (export, stored):
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "SITE_ARCHIVED")
    Tenant.objects.restore()
    Tenant.objects.resume()
    assert api.claim(site) == []


def test_nothing_is_requeued_at_an_archived_site(make_site: Callable[..., Site]) -> None:
    site = make_site(requeue_transient=True)
    make_failed(site, category="TRANSIENT")
    Tenant.objects.archive(reason="Over.")

    assert Conversion.objects.requeue_transient() == 0


def test_commands_that_store_rows_refuse_an_archived_site(archived: Site) -> None:
    with pytest.raises(CommandError, match="is archived"):
        call_command("oci_import", "none.csv", site=archived.public_id)


def test_an_archived_site_is_in_no_list_and_no_chooser(archived: Site, site: Site, admin_client: Client) -> None:
    listed = admin_client.get(LIST).text
    filters = admin_client.get("/admin/ociqueue/conversion/").text
    chooser = admin_client.get("/admin/ociqueue/conversion/import/").text

    for page in (listed, filters, chooser):
        assert site.name in page
        assert archived.name not in page
    assert archived.name in admin_client.get(LIST, {"status": "archived"}).text


def test_rows_of_an_archived_site_can_still_be_read(make_site: Callable[..., Site], admin_client: Client) -> None:
    site = make_site(name="Eski Mobilya")
    (row,) = make_failed(site)
    Tenant.objects.archive(reason="Over.")

    page = admin_client.get("/admin/ociqueue/conversion/", {"site": str(site.pk)}).text

    assert str(row.pk) in page
    assert "Eski Mobilya" in page


def test_the_dashboard_does_not_show_an_archived_site(site: Site, admin_client: Client) -> None:
    make_failed(site)
    assert "INVALID_VALUE" in admin_client.get("/admin/").text

    Tenant.objects.archive(reason="Over.")

    page = admin_client.get("/admin/").text
    assert "INVALID_VALUE" not in page
    assert "is paused" not in page


def test_rows_of_an_archived_site_are_not_acted_on(site: Site, make_person: Any) -> None:
    client = make_person(sites={site: "operator"})
    (row,) = make_failed(site)
    Tenant.objects.archive(reason="Over.")

    body = {"siteId": site.public_id, "action": "RETRY_SELECTED", "queueIds": [str(row.pk)], "reason": "again"}
    answer = client.post("/api/oci/queue-actions", body, content_type="application/json")

    assert answer.status_code >= 400
    row.refresh_from_db()
    assert row.status == "FAILED"


def test_many_sites_are_paused_and_resumed_at_once(make_site: Callable[..., Site], make_person: Any) -> None:
    mine = [make_site(name=f"Site {number}") for number in range(12)]
    other = make_site(name="Other")
    client = make_person(sites=dict.fromkeys(mine, "operator"))

    asked = client.post(
        LIST, {"action": "pause_sites", "_selected_action": [str(site.pk) for site in mine], "index": 0}
    )
    assert "Pause 12 sites" in asked.text
    assert "and 2 more" in asked.text
    assert not Site.objects.filter(is_paused=True).exists()

    page = act(client, "pause", *mine, other, reason="Budget")
    assert "12 sites are paused." in page.text
    assert "1 site was left as it is." in page.text
    assert Site.objects.filter(is_paused=True, pause_reason="Budget", paused_by="operator:ayse").count() == 12
    assert LogEntry.objects.filter(change_message="Paused: Budget").count() == 12

    assert "12 sites are resumed." in act(client, "resume", *mine, other).text
    assert not Site.objects.filter(is_paused=True).exists()


def test_a_pause_of_many_needs_a_reason(site: Site, admin_client: Client) -> None:
    page = act(admin_client, "pause", site, reason=" ")

    assert "This field is required." in page.text
    assert not Site.objects.filter(is_paused=True).exists()


def test_archiving_names_the_sites_that_are_not_finished(
    make_site: Callable[..., Site], make_conversion: Any, admin_client: Client
) -> None:
    finished, busy = make_site(name="Finished"), make_site(name="Busy")
    make_conversion(busy)

    asked = admin_client.post(ACTIONS, {"action": "archive", "sites": f"{finished.pk},{busy.pk}"})
    assert "cannot be archived yet: Busy" in asked.text

    act(admin_client, "archive", finished, busy, reason="Over.")
    assert list(Site.objects.active()) == [busy]
    assert LogEntry.objects.get().change_message == "Archived: Over."

    assert "Restore" in admin_client.get(f"{LIST}{finished.pk}/change/").text
    act(admin_client, "restore", finished)
    assert Site.objects.active().count() == 2


@pytest.mark.parametrize(
    ("role", "of_site", "may"),
    [("viewer", True, False), ("operator", True, False), ("admin", False, False), ("admin", True, True)],
)
def test_only_admins_of_a_site_archive_it(
    site: Site, make_site: Any, make_person: Any, role: str, *, of_site: bool, may: bool
) -> None:
    client = make_person(role=role, sites={site if of_site else make_site(name="Other"): role})

    act(client, "archive", site, reason="Over.")

    assert Site.objects.filter(archived_at__isnull=False).exists() is may


def test_the_customer_id_is_shown_and_found(make_site: Callable[..., Site], admin_client: Client) -> None:
    site = make_site(name="Deniz", customer_id="1234567890")
    make_site(name="Orman")

    assert "123-456-7890" in admin_client.get(f"{LIST}{site.pk}/change/").text
    assert "Deniz · 123-456-7890" in admin_client.get("/admin/ociqueue/conversion/import/").text
    for text in ("123-456-7890", "1234567890", "123-45"):
        page = admin_client.get(LIST, {"q": text}).text
        assert "Deniz" in page
        assert "Orman" not in page


def test_a_missing_reason_is_refused_by_the_database(site: Site) -> None:
    with pytest.raises(IntegrityError):
        Site.objects.update(archived_at=Now())
