"""Choosing a site's sender, and the switch that is offered when Google closed the Ads API to a developer token."""

import re

import pytest
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.test import Client

from kilit.problems.kinds import ProblemKind
from kilit.problems.registry import MOST_NAMED, find_problems
from kilit.workers.models import Heartbeat
from ociqueue.admin.sites.site_forms import SENDER
from ociqueue.models import Circuit, Credentials, Receipt, Site
from ociqueue.models.circuit import NOT_ALLOWLISTED
from ociqueue.states import SyncMethod
from tests.support.uploads import SITES, account, html, received, trip

pytestmark = pytest.mark.django_db


@pytest.fixture
def shut_out(make_site) -> Site:
    site = make_site(sync_method=SyncMethod.API)
    Credentials.objects.store(site, account())
    trip(site, code=NOT_ALLOWLISTED, reason="Use the Data Manager API.")
    return site


@pytest.fixture
def admin(make_person, shut_out) -> Client:
    return make_person("fatma", role="admin", sites={shut_out: "admin"})


def settings_of(site: Site) -> str:
    return f"{SITES}{site.pk}/settings/"


def switch(site: Site) -> str:
    return f"{settings_of(site)}?sync_method=datamanager"


def save_sender(client: Client, address: str, sender: str = "datamanager") -> HttpResponse:
    shown = {"name": "Mobilya", "time_zone": "Europe/Istanbul", "default_currency": "TRY", "denied_consent": "WITHHOLD"}
    initial = {f"initial-{name}": value for name, value in {**shown, "sync_method": "api"}.items()}
    return client.post(address, {**shown, **initial, "sync_method": sender})


def test_a_closed_ads_api_offers_the_switch_on_dashboard_overview_and_circuit(admin, shut_out) -> None:
    for address in ("/admin/", f"{SITES}{shut_out.pk}/change/", f"{SITES}{shut_out.pk}/circuit/"):
        assert f'href="{switch(shut_out)}"' in html(admin, address)


def test_the_switch_says_what_happens_then_does_it_and_tests_the_login(admin, shut_out) -> None:
    Heartbeat.objects.create(name="w1")
    asked = html(admin, switch(shut_out))

    answer = save_sender(admin, switch(shut_out))

    assert "Waiting for Google: 0. They stay with their upload until Google" in asked
    assert "needs the scope datamanager" in asked
    chosen, stored = (re.findall(f'<input[^>]*name="{name}"[^>]*>', asked) for name in (SENDER, f"initial-{SENDER}"))
    assert [" checked" in tag.replace(" checked:", "") for tag in chosen] == [False, False, True]
    assert 'value="api"' in stored[0]
    assert answer.url == settings_of(shut_out)
    shut_out.refresh_from_db()
    assert shut_out.sync_method == SyncMethod.DATA_MANAGER
    assert Credentials.objects.awaiting_check().exists()
    assert not Circuit.objects.blocking().exists(), "the next row is the probe"
    assert "Changed the sender from api to datamanager" in html(admin, f"{SITES}{shut_out.pk}/history/")
    assert switch(shut_out) not in html(admin, "/admin/")


def test_a_switch_of_a_site_with_another_sender_changes_nothing(admin, shut_out) -> None:
    Site.objects.update(sync_method=SyncMethod.SCRIPT)

    answer = save_sender(admin, switch(shut_out))

    assert "someone else changed the sender meanwhile" in answer.text
    shut_out.refresh_from_db()
    assert shut_out.sync_method == SyncMethod.SCRIPT


@pytest.mark.parametrize(("role", "at_site"), [("viewer", "admin"), ("admin", "viewer"), ("operator", "operator")])
def test_only_a_sites_admins_are_offered_the_switch(make_person, shut_out, role: str, at_site: str) -> None:
    other = make_person("can", role=role, sites={shut_out: at_site})

    for address in ("/admin/", f"{SITES}{shut_out.pk}/circuit/"):
        assert switch(shut_out) not in html(other, address)
    assert "checked" not in html(other, switch(shut_out))
    assert save_sender(other, switch(shut_out)).status_code == 403
    shut_out.refresh_from_db()
    assert shut_out.sync_method == SyncMethod.API


def test_another_fault_offers_no_switch(make_person, make_site) -> None:
    site = make_site(sync_method=SyncMethod.API)
    trip(site, code="USER_PERMISSION_DENIED")
    admin = make_person("fatma", role="admin", sites={site: "admin"})

    assert switch(site) not in html(admin, "/admin/") + html(admin, f"{SITES}{site.pk}/circuit/")


def test_settings_explain_the_three_senders_and_what_stays_where_it_is(admin, shut_out) -> None:
    Site.objects.update(sync_method=SyncMethod.DATA_MANAGER)
    shut_out.refresh_from_db()
    received(shut_out, count=2)

    shown = html(admin, settings_of(shut_out))

    assert [f'value="{sender}"' in shown for sender in SyncMethod] == [True] * 3
    assert "keeps the list per developer token" in shown
    assert "Waiting for Google: 2. They stay with their upload until Google" in shown
    assert "keeps the list per developer token" in html(admin, f"{SITES}add/")


def test_the_first_steps_of_a_data_manager_site_end_with_its_first_verdict(make_person, make_site) -> None:
    site = make_site(sync_method=SyncMethod.DATA_MANAGER)
    admin = make_person("fatma", role="admin", sites={site: "admin"})

    received(site)
    steps = admin.get(f"{SITES}{site.pk}/change/").context["steps"]

    assert [(step.title, step.is_done) for step in steps[-2:]] == [
        ("First upload", True),
        ("First verdict of Google", False),
    ]
    Receipt.objects.mark_settled(Receipt.objects.get().pk, verdict="SUCCESS")
    assert admin.get(f"{SITES}{site.pk}/change/").context["steps"] == []


def test_many_sites_without_credentials_are_listed_whatever_api_they_use(admin_client, make_site) -> None:
    senders = [SyncMethod.API, SyncMethod.DATA_MANAGER] * MOST_NAMED
    for number, sender in enumerate([*senders, SyncMethod.SCRIPT]):
        make_site(name=f"Site {number}", sync_method=sender)
    found = find_problems(User.objects.get(username="admin"))
    (problem,) = [each for each in found if each.kind == ProblemKind.NO_CREDENTIALS]

    listed = admin_client.get(problem.link).context["cl"].result_list

    assert problem.count == len(listed) == len(senders)


def test_a_data_manager_site_is_named_in_the_list_and_on_its_pages(make_person, make_site) -> None:
    site = make_site(sync_method=SyncMethod.DATA_MANAGER)
    viewer = make_person("ali", role="viewer", sites={site: "viewer"})

    assert "Data Manager, no credentials" in html(viewer, SITES)
    assert "The site uses the Data Manager API and has no credentials" in html(viewer, f"{SITES}{site.pk}/change/")
    assert "has no credentials" in html(viewer, "/admin/")
    Credentials.objects.store(site, account())
    received(site)

    assert "verdict pending: 1" in html(viewer, SITES)
    assert "verdict is pending for 1." in html(viewer, f"{SITES}{site.pk}/change/")
    assert "This site uses the Data Manager API, and a script is rejected." in html(
        viewer, f"{SITES}{site.pk}/ads-script/"
    )
