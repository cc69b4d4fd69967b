"""The dashboard as a page: refreshed in part, usable without JavaScript."""

import re

import pytest

from kilit.console.dashboard.page import panels
from tests.support.dashboard import BOARD, make_conversions, make_site
from tests.support.outbox import make_endpoint

pytestmark = pytest.mark.django_db


@pytest.mark.usefixtures("within_the_hour")
def test_the_part_that_refreshes_is_what_the_page_showed(admin_client) -> None:
    make_conversions(make_site(), well=1)
    page, part = (admin_client.get(address).content.decode() for address in ("/admin/", BOARD))

    def steady(html: str) -> str:
        return re.sub(r"\s+|\d\d:\d\d:\d\d|\d+ seconds?", "", html)

    assert "<html" not in part
    assert steady(part) in steady(page)


def test_the_part_is_never_cached(admin_client) -> None:
    assert "no-store" in admin_client.get(BOARD)["Cache-Control"]
    assert admin_client.post(BOARD).status_code == 405


def test_who_is_logged_out_gets_no_login_form_among_the_numbers(client) -> None:
    answer = client.get(BOARD)

    assert (answer.status_code, answer["HX-Refresh"], answer.content) == (401, "true", b"")


def test_the_page_needs_no_javascript(admin_client) -> None:
    make_endpoint()
    board = admin_client.get(BOARD).content.decode()

    assert re.search(r"<noscript>.*?Refresh.*?</noscript>", admin_client.get("/admin/").content.decode(), re.DOTALL)
    assert "<canvas" not in board
    assert board.count("<svg") == len(panels())
    assert board.count("By hour") == len(panels())
    assert not re.search(r"\son\w+=|<script|\sstyle=|\sx-|\shx-", board)


def test_every_link_keeps_its_focus_by_an_id_of_its_own(admin_client) -> None:
    for number in range(3):
        make_site(f"site {number}", is_paused=True, pause_reason="Audit", sync_method="api")
    make_conversions(make_site("Ege"), waiting=2)

    ids = re.findall(r'id="([^"]+)"', admin_client.get(BOARD).content.decode())

    assert len(ids) == len(set(ids))
