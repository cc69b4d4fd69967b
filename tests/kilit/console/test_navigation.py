"""One product: the side bar, names and ways back."""

import re

import pytest
from django.apps import apps
from django.contrib import admin

from kilit.batches.queues import queues
from kilit.console.navigation import sidebar

pytestmark = pytest.mark.django_db


def links(client, address: str = "/admin/") -> dict[str, str]:
    """Return the side bar's links by address."""
    html = client.get(address).content.decode()
    bar = html[html.index('id="nav-sidebar-apps"') : html.index('id="main"')]
    found = re.findall(r'<a href="([^"]+)".*?<span>(.*?)</span>', bar, re.DOTALL)
    return {address: title for address, title in found if address.startswith("/admin/")}


def test_everything_registered_has_a_place_in_the_side_bar(admin_client) -> None:
    shown = links(admin_client)

    assert list(shown)[:2] == ["/admin/", "/admin/workers/"]
    for model in admin.site._registry:
        assert f"/admin/{model._meta.app_label}/{model._meta.model_name}/" in shown


def test_the_queues_come_before_people_and_in_one_order(admin_client) -> None:
    apps_shown = list(dict.fromkeys(address.split("/")[2] for address in links(admin_client)))

    in_order = [*dict.fromkeys(queue.model._meta.app_label for queue in queues.values()), "auth"]
    assert [app for app in apps_shown if app in in_order] == in_order


def test_a_viewer_is_offered_only_what_opens(make_person) -> None:
    client = make_person(role="viewer")
    shown = links(client)

    assert "/admin/workers/" in shown
    assert not [address for address in shown if address.startswith(("/admin/auth/", "/admin/access/apikey/"))]
    assert {client.get(address).status_code for address in shown} == {200}


def test_no_group_has_the_name_of_its_only_page(admin_client, rf, admin_user) -> None:
    request = rf.get("/admin/")
    request.user = admin_user

    for group in sidebar(request):
        titles = [str(item["title"]).lower() for item in group["items"]]
        assert str(group.get("title", "")).lower() not in titles


def test_a_group_of_one_page_with_its_name_has_no_title(admin_user, rf, monkeypatch) -> None:
    monkeypatch.setattr(apps.get_app_config("pdfjobs"), "verbose_name", "PDF Jobs")
    request = rf.get("/admin/")
    request.user = admin_user

    assert [group["title"] for group in sidebar(request) if group["items"][0]["title"] == "PDF jobs"] == [""]


def test_every_page_has_a_place_of_its_own_and_an_icon() -> None:
    menus = {model: page.menu for model, page in admin.site._registry.items()}

    for label in {model._meta.app_label for model in menus}:
        places = [place for model, (place, _icon) in menus.items() if model._meta.app_label == label]
        assert len(places) == len(set(places)), label
    assert all(icon for _place, icon in menus.values())
