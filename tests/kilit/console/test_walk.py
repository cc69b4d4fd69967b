"""Every page of the console, for everybody, by GET and by hand-made POST."""

from html.parser import HTMLParser
from typing import Any

import pytest
from django.contrib import admin
from django.utils import timezone

from kilit.access.models import DenialCode, DeniedRequest, LoginWindow
from ociqueue.models import Conversion, Credentials, Site, UploadBatch
from tests.support.admin_addresses import ANSWERS, Address, addresses, everything, hand_made, one_of_each
from tests.support.denied_requests import refusals

pytestmark = pytest.mark.django_db

# What is everybody's own: to log in and out, the password, the language, the zone.
RESET = {"password_reset", "password_reset_done", "password_reset_complete", "password_reset_confirm"}
LOGIN = {"account_login", "mfa_authenticate", "oidc_start", "oidc_callback"}
OWN = (
    RESET
    | LOGIN
    | {
        "login",
        "logout",
        "password_change",
        "password_change_done",
        "set_language",
        "preferences",
        "jsi18n",
    }
)
LANGUAGE, LOGOUT, ZONE = "/admin/language/", "/admin/logout/", "/admin/preferences/"
VIEWS = "/admin/views/"  # saved filters, the user's own


@pytest.fixture
def rows(demo, stranger) -> dict[Any, list[Any]]:
    """Return rows of every model, in every state there is."""
    LoginWindow.objects.create(name="login:x", username="ayse", address="10.0.0.1", failures=5, last_at=timezone.now())
    DeniedRequest.objects.record(actor="viewer:ayse", method="GET", path="/admin/x/", code=DenialCode.FORBIDDEN)
    return one_of_each()


@pytest.fixture
def walk(rows) -> list[Address]:
    """Return all pages there are, each with one row behind it."""
    return list(addresses({model: found[:1] for model, found in rows.items()}))


@pytest.fixture
def long_walk(rows) -> list[Address]:
    """Return all pages there are for rows in every state."""
    return list(addresses(rows))


def is_refused(answer: Any) -> bool:
    return answer.status_code in {403, 404, 405}


def test_the_walk_reaches_every_model_and_every_custom_page(walk) -> None:
    reached = {page.model for page in walk if page.model}
    names = {page.name for page in walk}

    assert reached == set(admin.site._registry)
    assert {"ociqueue_conversion_act", "ociqueue_site_issue_key", "pdfjobs_pdfjob_act", "preferences"} <= names
    assert len(walk) > 90


def test_strangers_to_the_house_reach_the_login_page_alone(walk, rows, client_of) -> None:
    client, before = client_of("anonymous"), everything()

    for page in walk:
        if page.name in OWN:
            continue
        for answer in (client.get(page.path), *(client.post(page.path, body) for body in hand_made(page, rows))):
            # A part of a page that refreshes itself says 401: a login page in its place would not help.
            # It is only read, so anything else is refused (405) before the user is checked.
            assert answer.status_code in (401, 405) or "/admin/login/" in answer["Location"], page

    assert everything() == before


@pytest.mark.slow  # takes seconds: many rows, many rounds or a wait
# By day, tests/security/test_tenancy.py sends the same as members of another site.
@pytest.mark.parametrize("role", ["viewer", pytest.param("stranger", marks=pytest.mark.nightly)])
def test_whoever_may_not_act_changes_nothing_and_every_refusal_is_kept(walk, rows, client_of, role: str) -> None:
    client = client_of(role)
    mine = set() if role == "viewer" else _reach_of_strangers()
    before = everything()

    for page in walk:
        if page.name in OWN or page.model in mine:
            continue
        for body in hand_made(page, rows):
            refused = refusals()
            answer = client.post(page.path, body)
            assert answer.status_code in ANSWERS, page
            if answer.status_code == 403:
                assert refusals() == refused + 1, page

    assert everything() == before


def _reach_of_strangers() -> set[Any]:
    """PDF and cutting jobs belong to no site: an operator of any may act on them."""
    return {model for model in admin.site._registry if model._meta.app_label in {"pdfjobs", "orchestrator"}}


def test_another_sites_rows_do_not_exist_and_looking_for_them_is_kept(walk, client_of) -> None:
    client = client_of("stranger")

    for page in walk:
        if page.model not in {Conversion, Site, UploadBatch, Credentials} or page.row is None:
            continue
        if page.model is Site and Site.objects.get(pk=page.row).name == "Somebody else's":
            continue
        refused = refusals()
        answer = client.get(page.path)
        assert is_refused(answer) or answer["Location"] == "/admin/", page
        assert refusals() == refused + 1, page


@pytest.mark.nightly  # it opens every page of the console, with every filter and state
# By day: as a viewer, below; as a superuser, test_every_page.py; as others, tests/security/test_tenancy.py.
@pytest.mark.parametrize("role", ["operator", "stranger"])
def test_no_page_fails(long_walk, client_of, role: str) -> None:
    client = client_of(role)

    for page in long_walk:
        if page.name == "logout":
            continue
        refused = refusals()
        answer = client.get(page.path)
        assert answer.status_code in ANSWERS, page
        if answer.status_code == 403:
            assert refusals() == refused + 1, page


class Offers(HTMLParser):
    """Collects what a page lets its reader send: buttons by the address of their form, and choices of actions."""

    def __init__(self) -> None:
        super().__init__()
        self.form, self.sends, self.chooses = "", [], False

    def handle_starttag(self, tag: str, attributes: Any) -> None:
        values = dict(attributes)
        if tag == "form":
            self.form = values.get("action", "(itself)") if values.get("method", "").lower() == "post" else ""
        if self.form and (values.get("type") == "submit") and tag in {"button", "input"}:
            self.sends.append(self.form)
        self.chooses |= tag in {"select", "button"} and values.get("name") == "action"

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self.form = ""


def offers(answer: Any) -> Offers:
    found = Offers()
    if answer.get("Content-Type", "").startswith("text/html"):
        found.feed(answer.content.decode())
    return found


@pytest.mark.slow  # it opens every page of the console; at night for rows in every state
@pytest.mark.parametrize("pages", ["walk", pytest.param("long_walk", marks=pytest.mark.nightly)])
def test_a_viewer_is_offered_no_action_anywhere(request, client_of, pages: str) -> None:
    client = client_of("viewer")

    for page in request.getfixturevalue(pages):
        if page.name in OWN:
            continue
        refused = refusals()
        answer = client.get(page.path)
        assert answer.status_code in {200, 302, 403, 404, 405}, page
        if answer.status_code == 403:
            assert refusals() == refused + 1, page
        found = offers(answer)
        assert set(found.sends) <= {LANGUAGE, LOGOUT, ZONE, VIEWS}, (page, found.sends)
        assert not found.chooses, page


def test_an_operator_is_offered_some(walk, client_of) -> None:
    client = client_of("operator")
    (listed,) = (page for page in walk if page.name == "ociqueue_conversion_changelist")

    assert offers(client.get(listed.path)).chooses
