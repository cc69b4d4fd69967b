"""Who sees what on the first screen."""

import re

import pytest
from django.contrib.auth.models import Permission
from django.utils import timezone

from kilit.console.dashboard import page as dashboard
from kilit.console.dashboard.page import panels
from kilit.console.navigation import tab_of
from kilit.lock.models import Count
from kilit.problems.registry import find_problems
from tests.support.dashboard import BOARD, make_conversions, make_site, panel_of, text_of
from tests.support.outbox import make_endpoint
from tests.support.people import browser_of, make_user

pytestmark = pytest.mark.django_db

CONVERSIONS, PDF = panel_of("conversion"), panel_of("pdf")


@pytest.mark.parametrize("role", ["viewer", "operator", "admin"])
def test_every_role_sees_the_dashboard(make_person, role: str) -> None:
    site = make_site()
    make_endpoint(scope=str(site.pk))
    client = make_person(role=role, sites=(site,))

    shown = client.get("/admin/").text

    icons = {panel.queue.title: tab_of(panel).item.icon for panel in panels()}
    for title, icon in icons.items():
        assert re.search(rf">{icon}</span>\s*<a [^>]*>{title}</a>", shown)
    assert "Scheduled tasks" in shown


def test_membership_narrows_numbers_rows_and_sites() -> None:
    mine, theirs = make_site("Mine"), make_site("Theirs", is_paused=True, pause_reason="Secret audit")
    make_conversions(mine, well=1, waiting=1)
    make_conversions(theirs, waiting=3)
    make_conversions(make_site("Others"), well=5, badly=4, waiting=3)
    Count.objects.fold(limit=5)
    ayse = make_user(role="viewer", sites=(mine,))

    content = dashboard.fill_strips([CONVERSIONS], ayse, now=timezone.now())[0]

    assert {state.name: state.rows for state in content.states if state.rows} == {"COMPLETED": 1, "QUEUED": 1}
    assert (content.chart.totals["well"], content.chart.totals["badly"], content.is_alarming) == (1, 0, False)
    assert content.oldest is not None
    assert content.oldest.place == "Mine"
    assert [problem.kind for problem in find_problems(ayse) if problem.part == "conversion"] == []


def test_membership_narrows_what_is_stuck(sql) -> None:
    mine, theirs = make_site("Mine"), make_site("Theirs")
    for site, rows in ((mine, 1), (theirs, 2)):
        make_conversions(site, waiting=rows)
        site.conversions.claim(limit=rows)
    sql("UPDATE offline_conversion_queue SET claimed_at = now() - interval '1 hour'")
    ayse = make_user(sites=(mine,))

    assert [problem.count for problem in find_problems(ayse) if problem.kind == "stuck"] == [1]


def test_a_member_of_no_site_sees_no_number_of_any() -> None:
    make_conversions(make_site("Theirs"), well=2, waiting=2)
    ayse = make_user(role="operator")

    content = dashboard.fill_strips([CONVERSIONS], ayse, now=timezone.now())[0]

    assert [state.rows for state in content.states] == []
    assert (content.chart.totals["well"], content.oldest) == (0, None)
    assert "Theirs" not in text_of(browser_of(ayse))


def test_a_queue_that_a_user_may_not_see_has_no_panel() -> None:
    ayse = make_user(role=None)
    ayse.user_permissions.set(Permission.objects.filter(codename="view_pdfjob"))

    text = text_of(browser_of(ayse), BOARD)

    assert [panel for panel in panels() if str(panel.queue.title) in text] == [PDF]
    assert "Scheduled tasks" not in text


def test_a_user_without_a_role_sees_a_message(make_person) -> None:
    assert "You have no role yet" in text_of(make_person(role=None))


def test_who_is_not_staff_sees_nothing(client) -> None:
    client.force_login(make_user("shop", is_staff=False))

    assert client.get(BOARD).status_code == 401
    assert client.get("/admin/").status_code == 302
