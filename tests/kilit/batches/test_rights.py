"""Rights that change while a bulk action runs: checked again before every batch."""

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client

from kilit.access.models import DeniedRequest
from kilit.batches import run
from kilit.batches.models import BulkAction
from kilit.batches.run import plan, run_batch
from kilit.sentences import english
from kilit.sites.models import SiteMembership
from tests.support.bulk_actions import PAGES, asked, states, user_of, worked
from tests.support.bulk_results import agrees

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("loss", ["role", "membership", "account", "console"])
def test_whoever_may_no_longer_act_does_not(operator, site, make_failed, small_batches, loss: str) -> None:
    make_failed(site, 6)
    asked(operator)
    action = BulkAction.objects.claim()
    run_batch(action)

    match loss:
        case "role":
            User.objects.get(username="ayse").groups.set(Group.objects.filter(name="viewer"))
        case "membership":
            SiteMembership.objects.update(role="viewer")
        case "account":
            User.objects.filter(username="ayse").update(is_active=False)
        case "console":
            User.objects.filter(username="ayse").update(is_staff=False)
    run.ENGINE.work(action)

    action.refresh_from_db()
    assert (action.status, english(action.error)) == ("FAILED", "ayse may no longer act on these rows.")
    assert states() == {"QUEUED": 2, "FAILED": 4}


def test_rows_of_a_site_that_was_taken_away_are_left_alone(make_person, make_site, make_failed) -> None:
    mine, lost = make_site(), make_site()
    make_failed(mine, 2)
    make_failed(lost, 3)
    operator = make_person(sites={mine: "operator", lost: "operator"})
    action = asked(operator)

    SiteMembership.objects.filter(site=lost).delete()
    worked(action)

    assert (action.status, action.moved_count, action.skipped) == ("DONE", 2, [["", "not of a site you run", 3]])
    assert states() == {"QUEUED": 2, "FAILED": 3}
    agrees(operator, action)


def test_a_filter_by_a_site_that_was_taken_away_matches_nothing(
    make_person, make_site, make_failed, monkeypatch
) -> None:
    """A filter that the worker no longer knows must not let the action loose on all other rows."""
    monkeypatch.setattr(run, "MOST_LOOKED_AT", 0)
    mine, lost = make_site(), make_site()
    make_failed(mine, 2)
    make_failed(lost, 3)
    action = asked(make_person(sites={mine: "operator", lost: "operator"}), query=f"site={lost.pk}")

    SiteMembership.objects.filter(site=lost).delete()
    worked(action)

    assert (action.total, action.moved_count) == (0, 0)
    assert states() == {"FAILED": 5}


def test_a_site_won_since_is_not_in_it(make_person, make_site, make_failed) -> None:
    mine, won = make_site(), make_site()
    make_failed(mine, 1)
    make_failed(won, 1)
    action = asked(make_person(sites={mine: "operator", won: "viewer"}))

    SiteMembership.objects.update(role="admin")

    assert worked(action).moved_count == 1


@pytest.mark.parametrize("role", ["operator", "admin"])
def test_only_who_runs_all_its_sites_cancels_what_another_asked(make_person, make_site, make_failed, role) -> None:
    """An operator, or admin, of one site looks on at the other."""
    site, other = make_site(), make_site()
    make_failed(site, 2)
    make_failed(other, 2)
    action = asked(make_person(sites={site: "operator", other: "operator"}))
    onlooker = make_person("can", role=role, sites={site: role, other: "viewer"})

    page = onlooker.get(f"{PAGES}{action.pk}/change/")
    refused = onlooker.post(f"{PAGES}{action.pk}/cancel/", {"reason": "mine now"})

    action.refresh_from_db()
    assert (page.status_code, page.context["may_cancel"]) == (200, False)
    assert (refused.status_code, action.status) == (403, "RUNNING")
    assert DeniedRequest.objects.get().path == f"{PAGES}{action.pk}/cancel/"

    runs_both = make_person("veli", sites={site: "operator", other: "admin"})
    assert runs_both.get(f"{PAGES}{action.pk}/change/").context["may_cancel"]
    runs_both.post(f"{PAGES}{action.pk}/cancel/", {"reason": "a mistake"})
    action.refresh_from_db()
    assert action.status == "CANCELLED"


def test_what_is_not_counted_yet_is_cancelled_by_who_asked_or_an_owner(make_person, operator, site) -> None:
    owner = make_person("deniz", role="owner")
    admin = make_person("can", role="admin", sites={site: "admin"})
    asks = {"queue": "conversion", "action": "retry", "filters_text": "", "options": {}, "reason": "fixed"}
    action = plan(user=user_of(operator), filters={"status": "FAILED"}, **asks)

    def may_cancel(client: Client) -> bool:
        page = client.get(f"{PAGES}{action.pk}/change/")
        return page.status_code == 200 and page.context["may_cancel"]

    assert action.scopes is None
    assert (may_cancel(operator), may_cancel(admin), may_cancel(owner)) == (True, False, True)
