"""Rights that change while a bulk action runs: asked anew before every batch (CON-5)."""

import pytest
from django.contrib.auth.models import Group, User

from lifecycle.bulk.running import run_batch
from lifecycle.models import BulkAction
from ociqueue.models import SiteMembership
from tests.bulk.conftest import asked, states, worked
from tests.bulk.telling import agrees

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("loss", ["role", "membership", "account", "console"])
def test_whoever_may_no_longer_act_does_not(make_person, site, make_failed, small_batches, loss: str) -> None:
    make_failed(site, 6)
    operator = make_person(sites={site: "operator"})
    asked(operator)
    action = BulkAction.objects.claim()
    assert run_batch(action)

    match loss:
        case "role":
            User.objects.get(username="ayse").groups.set(Group.objects.filter(name="viewer"))
        case "membership":
            SiteMembership.objects.update(role="viewer")
        case "account":
            User.objects.filter(username="ayse").update(is_active=False)
        case "console":
            User.objects.filter(username="ayse").update(is_staff=False)
    run_batch(action)

    action.refresh_from_db()
    assert (action.status, action.error) == ("FAILED", "ayse may no longer act on these rows.")
    assert states() == {"QUEUED": 2, "FAILED": 4}


def test_rows_of_a_site_that_was_taken_away_are_left_alone(make_person, make_site, make_failed) -> None:
    mine, lost = make_site(), make_site()
    make_failed(mine, 2)
    make_failed(lost, 3)
    operator = make_person(sites={mine: "operator", lost: "operator"})
    action = asked(operator)

    SiteMembership.objects.filter(site=lost).delete()
    worked(action)

    assert (action.status, action.moved_count, action.left) == ("DONE", 2, {"not of a site you run": 3})
    assert states() == {"QUEUED": 2, "FAILED": 3}
    agrees(operator, action)


def test_a_site_won_since_is_not_in_it(make_person, make_site, make_failed) -> None:
    mine, won = make_site(), make_site()
    make_failed(mine, 1)
    make_failed(won, 1)
    action = asked(make_person(sites={mine: "operator", won: "viewer"}))

    SiteMembership.objects.update(role="admin")

    assert worked(action).moved_count == 1
