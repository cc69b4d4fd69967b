"""A user saves the filters of a list under a name; views are the user's own."""

import pytest

from kilit.console.lists.saved_views import MOST_VIEWS
from kilit.console.models import SavedView
from tests.support.dashboard import make_conversions, make_site

pytestmark = pytest.mark.django_db

LIST, VIEWS = "/admin/ociqueue/conversion/", "/admin/views/"
LISTED = "ociqueue.conversion"


def save(client, name: str, query: str = "status=FAILED&p=3&next=//evil.example", listed: str = LISTED):
    return client.post(VIEWS, {"listed": listed, "name": name, "query": query})


def test_a_view_is_saved_shown_replaced_and_deleted(make_person) -> None:
    site = make_site()
    make_conversions(site, badly=1)
    client = make_person(sites=(site,), role="viewer")

    assert "Save these filters as" in client.get(f"{LIST}?status=FAILED").text
    assert "Save these filters as" not in client.get(LIST).text
    assert save(client, "Broken").url == f"{LIST}?status=FAILED"
    assert 'href="?status=FAILED" class="kilit-link">Broken' in client.get(LIST).text
    save(client, "Broken", "status=FAILED&code=X")
    assert SavedView.objects.get().query == "status=FAILED&code=X"
    client.post(VIEWS, {"listed": LISTED, "name": "Broken", "delete": "1"})
    assert not SavedView.objects.exists()


def test_views_are_the_users_own(make_person) -> None:
    site = make_site()
    ayse, bora = make_person(sites=(site,)), make_person("bora", sites=(site,))
    save(ayse, "Mine")

    bora.post(VIEWS, {"listed": LISTED, "name": "Mine", "delete": "1"})

    assert "Mine" in ayse.get(LIST).text
    assert "Mine" not in bora.get(LIST).text


def test_nothing_is_saved_without_a_name_a_filter_a_list_or_room(make_person) -> None:
    client = make_person(sites=(make_site(),))

    save(client, " ")
    save(client, "All", "p=2")
    assert save(client, "Else", listed="auth.user").status_code == 403
    assert save(client, "Else", listed="no").status_code == 400
    assert client.get(VIEWS).status_code == 405
    assert not SavedView.objects.exists()
    for number in range(MOST_VIEWS + 1):
        save(client, f"View {number}")
    assert SavedView.objects.count() == MOST_VIEWS


def test_a_list_that_the_user_may_not_see_has_no_views(make_person) -> None:
    client = make_person(role=None)

    assert save(client, "Mine").status_code == 403
