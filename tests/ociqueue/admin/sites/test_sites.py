"""Sites in the console: numbers, pause, people, script and keys."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest.mock import Mock

import pytest
from django.contrib.admin.models import LogEntry, LogEntryManager
from django.db import OperationalError
from django.test import Client

from kilit.lock.models import Count
from kilit.sites.models import Tenant
from ociqueue.models import Conversion, Site
from ociqueue.operating import presenters
from ociqueue.operating.site_health import site_health

pytestmark = pytest.mark.django_db

LIST = "/admin/ociqueue/site/"


@pytest.fixture
def make_busy(make_site, make_conversion) -> Callable[..., Site]:
    """Make a site with rows that wait, failed, are done and are stuck."""

    def make(*, failed: int = 1, **columns: Any) -> Site:
        site = make_site(**columns)
        rows = [make_conversion(site) for _ in range(5 + failed)]
        Conversion.objects.for_site(site).claim(limit=3 + failed)
        Conversion.objects.filter(pk__in=[row.pk for row in rows[:2]]).move("ack")
        failing = Conversion.objects.filter(pk__in=[row.pk for row in rows[2 : 2 + failed]])
        failing.ack_failed(code="X", category="VALIDATION", message="")
        long_ago = datetime.now(UTC) - timedelta(hours=1)
        Conversion.objects.for_site(site).filter(status="PROCESSING").update(claimed_at=long_ago)
        return site

    return make


SHOWN = ("name", "time_zone", "default_currency", "sync_method", "denied_consent", "requeue_transient")


def change(client: Client, site: Site, **changes: Any) -> Any:
    """Send the form of a site's settings as its page would."""
    form = {name: getattr(site, name) for name in SHOWN if name != "requeue_transient"}
    shown = {f"initial-{name}": getattr(site, name) for name in SHOWN}
    return client.post(f"{LIST}{site.pk}/settings/", {**form, **shown, **changes})


def change_role(client: Client, site: Site, role: str) -> Any:
    """Give the first member another role."""
    person = site.memberships.exclude(user__username__startswith="site-").earliest("pk")
    values = {"id": person.pk, "site": site.pk, "user": person.user_id, "role": role}
    sizes = {"memberships-TOTAL_FORMS": 1, "memberships-INITIAL_FORMS": 1}
    form = {f"memberships-0-{name}": value for name, value in values.items()}
    return client.post(f"{LIST}{site.pk}/members/", {**sizes, **form})


def pause(client: Client, site: Site, reason: str) -> str:
    return messages_of(client.post(f"{LIST}{site.pk}/pause/", {"reason": reason}, follow=True))


def resume(client: Client, site: Site, reason: str) -> str:
    return messages_of(client.post(f"{LIST}{site.pk}/resume/", {"reason": reason}, follow=True))


def messages_of(answer: Any) -> str:
    return " ".join(str(message) for message in answer.context["messages"]) if answer.context else ""


def test_the_list_shows_the_numbers_that_the_api_tells(make_busy) -> None:
    yesterday = datetime.now(UTC) - timedelta(days=2)
    sites = [
        make_busy(),
        make_busy(failed=3, last_export_at=yesterday),
        make_busy(last_export_at=yesterday, is_paused=True, pause_reason="review"),
        make_busy(failed=0, sync_method="api", last_export_at=yesterday),
    ]
    Count.objects.fold(limit=7)  # some of it folded, some pending
    Conversion.objects.for_site(sites[1]).filter(status="FAILED").retry_selected()  # they failed all the same

    found = site_health(sites)

    for site in sites:
        reported, shown = presenters.stats(site), found[site.pk]
        assert {state: shown.totals[state] for state in reported["totals"]} == reported["totals"]
        assert (shown.stuck, shown.error_rate, shown.is_alarming, shown.is_silent) == (
            reported["stuckProcessing"],
            reported["errorRate"],
            reported["alarming"],
            reported["scriptIsSilent"],
        )
    assert [found[site.pk].is_silent for site in sites] == [False, True, False, False]


def test_alarms_are_badges(admin_client, make_busy) -> None:
    make_busy(failed=3, last_export_at=datetime.now(UTC) - timedelta(days=2))

    shown = admin_client.get(LIST).content.decode()

    assert "errors 60 %" in shown
    assert "script silent" in shown


def test_a_superuser_changes_any_site(admin_client, make_site) -> None:
    script, api = make_site(), make_site(sync_method="api")

    change(admin_client, script, name="Renamed")

    assert Site.objects.get(pk=script.pk).name == "Renamed"
    assert "and a script is rejected" in admin_client.get(f"{LIST}{api.pk}/ads-script/").content.decode()
    assert admin_client.get(LIST).status_code == 200


def test_whoever_adds_a_site_becomes_its_admin(make_person) -> None:
    admin = make_person(role="admin")
    form = {"name": "Yeni", "time_zone": "Europe/Istanbul", "default_currency": "TRY", "sync_method": "script"}
    form["denied_consent"] = "WITHHOLD"

    answer = admin.post(f"{LIST}add/", form)

    site = Site.objects.get(name="Yeni")
    assert answer["Location"] == f"{LIST}{site.pk}/ads-script/", "the next step of a new site"
    assert site.memberships.values_list("user__username", "role").get() == ("ayse", "admin")
    assert admin.get(f"{LIST}{site.pk}/change/").status_code == 200
    assert make_person("ali", role="operator").get(f"{LIST}add/").status_code == 403


def test_a_pause_needs_a_reason(operator, site) -> None:
    assert pause(operator, site, " ") == "Enter a reason for the pause."
    assert not Site.objects.get().is_paused
    assert pause(operator, site, "The account is under review") == "Mobilya is paused."
    site.refresh_from_db()
    assert (site.is_paused, site.pause_reason, site.paused_by) == (True, "The account is under review", "operator:ayse")
    assert site.paused_at is not None
    assert resume(operator, site, "The account is under review") == "Mobilya is resumed."
    site.refresh_from_db()
    assert (site.is_paused, site.pause_reason, site.paused_by, site.paused_at) == (False, "", "", None)


def test_without_its_record_a_site_is_not_paused(make_person, site, monkeypatch) -> None:
    monkeypatch.setattr(LogEntryManager, "log_actions", Mock(side_effect=OperationalError))

    with pytest.raises(OperationalError):
        pause(make_person(sites={site: "operator"}), site, "review")

    assert not Site.objects.get().is_paused


def test_a_pause_is_logged_once_with_its_reason(admin, site) -> None:
    pause(admin, site, "Under review")
    pause(admin, site, "Again")
    resume(admin, site, "Under review")
    change(admin, site, name="Yeni")

    logged = [entry.get_change_message() for entry in LogEntry.objects.order_by("pk")]
    assert logged == ["Paused: Under review", "Resumed.", "Changed Name."]


def test_the_history_names_its_columns_once(admin, site) -> None:
    pause(admin, site, "Under review")

    history = admin.get(f"{LIST}{site.pk}/history/").content.decode()

    assert "Paused: Under review" in history
    assert "before:content-[attr(data-label)]" not in history, "these cells repeat the header on wide screens"
    assert history.count('<th scope="col">') == 3


def test_an_older_page_ends_no_pause_that_it_did_not_show(operator, site) -> None:
    Site.objects.update(is_paused=True, pause_reason="legal hold")

    replies = [resume(operator, site, "wrong prices"), pause(operator, site, "wrong prices")]

    assert replies == [
        "Nothing was changed: Mobilya was paused for another reason after you opened the page.",
        "Mobilya is already paused.",
    ]
    assert Site.objects.values_list("is_paused", "pause_reason").get() == (True, "legal hold")


def test_an_older_page_does_not_change_the_sender_back(admin, site) -> None:
    """Another user moved the site to the API meanwhile; a new name is saved, and the rest stays."""
    Site.objects.update(is_paused=True, pause_reason="legal hold", sync_method="api")

    refused = admin.post(
        f"{LIST}{site.pk}/settings/",
        {"name": "Neu", "time_zone": "UTC", "sync_method": "script", "initial-sync_method": ""},
    )
    saved = change(admin, site, name="Yeni")

    assert "someone else changed the sender meanwhile" in refused.content.decode()
    assert saved.status_code == 302
    reported = Site.objects.values_list("name", "is_paused", "pause_reason", "sync_method").get()
    assert reported == ("Yeni", True, "legal hold", "api")


def test_the_settings_of_a_site_send_back_what_they_showed(make_person, site) -> None:
    page = make_person(role="admin", sites={site: "admin"}).get(f"{LIST}{site.pk}/settings/").content.decode()

    assert all(f'name="initial-{name}"' in page for name in SHOWN)


def test_an_operator_pauses_a_site_and_changes_nothing_else(operator, site) -> None:
    pause(operator, site, "wrong prices")

    assert change(operator, site, name="Mine now").status_code == 403
    assert operator.get(f"{LIST}{site.pk}/settings/").status_code == 200
    site.refresh_from_db()
    assert (site.name, site.is_paused) == ("Mobilya", True)


def test_only_operators_of_a_site_resume_it_and_only_to_our_own_pages(make_person, site, make_site) -> None:
    other = make_site(name="Other")
    Tenant.objects.all().pause(reason="wrong prices")
    viewer = make_person("ali", role="viewer", sites={site: "viewer"})
    operator = make_person(sites={site: "operator", other: "viewer"})

    assert viewer.post(f"{LIST}{site.pk}/resume/").status_code == 403
    assert operator.post(f"{LIST}{other.pk}/resume/").status_code == 403
    assert operator.get(f"{LIST}{site.pk}/resume/").status_code == 302
    assert Site.objects.filter(is_paused=True).count() == 2
    answer = operator.post(f"{LIST}{site.pk}/resume/", {"next": "https://evil.example/"})

    assert answer.url == f"{LIST}{site.pk}/change/"
    assert Site.objects.get(is_paused=True) == other


def test_a_viewer_changes_nothing(make_person, site) -> None:
    by_role = make_person("ali", role="viewer", sites={site: "admin"})
    by_membership = make_person("veli", role="admin", sites={site: "viewer"})

    for viewer in (by_role, by_membership):
        assert viewer.get(f"{LIST}{site.pk}/change/").status_code == 200
        assert change(viewer, site, name="Mine now").status_code == 403
        assert viewer.post(f"{LIST}{site.pk}/change/", {"name": "Mine now"}).status_code == 403
        assert viewer.post(f"{LIST}{site.pk}/pause/", {"reason": "mine"}).status_code == 403
        assert viewer.post(f"{LIST}{site.pk}/ads-script/copied/").status_code == 403

    assert Site.objects.values_list("name", "is_paused").get() == ("Mobilya", False)


def test_nobody_makes_a_site_disappear(admin_client, site) -> None:
    assert admin_client.post(f"{LIST}{site.pk}/delete/", {"post": "yes"}).status_code == 403


def test_only_a_sites_admins_give_roles(make_person, site) -> None:
    operator = make_person(role="admin", sites={site: "operator"})
    admin = make_person("fatma", role="admin", sites={site: "admin"})

    assert change_role(operator, site, "admin").status_code == 403
    assert site.memberships.get(user__username="ayse").role == "operator"

    change_role(admin, site, "viewer")
    assert site.memberships.get(user__username="ayse").role == "viewer"
    assert Site.objects.get().name == "Mobilya"


def test_the_user_behind_the_keys_is_not_among_the_people(admin, site, site_key) -> None:
    site_key(site)

    formset = admin.get(f"{LIST}{site.pk}/members/").context["inline_admin_formsets"][0].formset

    assert [form.instance.user.username for form in formset.forms if form.instance.pk] == ["ayse"]
