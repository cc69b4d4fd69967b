"""The second factor in a real browser: a passkey of Chromium's virtual authenticator, an app's code, and every page."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from playwright.sync_api import Browser, Page, expect

from tests.support.browsing import Visitor, open_page, watched
from tests.support.page_faults import faults
from tests.support.second_factors import (
    APP,
    CODES,
    CONFIRM,
    LOGIN,
    PAGES,
    PASSWORD,
    code_of,
    enter_password,
    set_up_app,
)

pytestmark = pytest.mark.django_db(transaction=True)

VIRTUAL = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
    "automaticPresenceSimulation": True,
}


@pytest.fixture
def guest(browser: Browser, live_server: Any, settings: Any) -> Iterator[Visitor]:
    """A visitor of a server where second factors are allowed, under a name that may have passkeys without TLS."""
    settings.SECOND_FACTOR = "allowed"
    coming = Visitor(browser, re.sub(r"//[^:]+:", "//localhost:", live_server.url))
    try:
        yield coming
        assert coming.faults == []
    finally:
        coming.leave()


@pytest.fixture
def ayse(transactional_db: None) -> User:
    return User.objects.create_superuser("ayse", password=PASSWORD)


def log_in(page: Page) -> None:
    open_page(page, LOGIN)
    page.get_by_label("Username").fill("ayse")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()


def test_a_passkey_is_added_and_asked_for_at_the_next_login(guest, ayse) -> None:
    complaints: list[str] = []
    page = watched(guest.enter(), complaints)
    session = page.context.new_cdp_session(page)
    session.send("WebAuthn.enable")
    session.send("WebAuthn.addVirtualAuthenticator", {"options": VIRTUAL})
    log_in(page)
    open_page(page, PAGES)
    page.get_by_role("link", name="Add a passkey").click()
    found = faults(page, "passkey")
    page.get_by_label("Name").fill("Laptop")
    page.get_by_role("button", name="Add a passkey").click()
    expect(page.get_by_role("heading", name="Recovery codes").first).to_be_visible()
    found += faults(page, "codes")
    page.get_by_role("link", name="I have stored them").click()
    expect(page.get_by_text("Laptop", exact=True)).to_be_visible()
    found += faults(page, "overview")

    page.context.clear_cookies()
    log_in(page)
    expect(page.get_by_role("button", name="Use a passkey")).to_be_visible()
    found += faults(page, "login-passkey")
    page.get_by_role("button", name="Use a passkey").click()

    expect(page).to_have_url(re.compile("/admin/$"))
    assert found + complaints == []


def test_a_passkey_that_is_not_offered_gives_a_reason(guest, ayse) -> None:
    page = guest.enter()
    session = page.context.new_cdp_session(page)
    session.send("WebAuthn.enable")
    session.send("WebAuthn.addVirtualAuthenticator", {"options": {**VIRTUAL, "isUserVerified": False}})
    log_in(page)
    open_page(page, f"{PAGES}passkey/")
    page.evaluate(
        "() => { navigator.credentials.create = async () => { throw new DOMException('', 'NotAllowedError'); } }"
    )
    page.get_by_label("Name").fill("Laptop")

    page.get_by_role("button", name="Add a passkey").click()

    expect(page.get_by_text("That did not work: it was cancelled")).to_be_visible()


@pytest.mark.nightly  # by day, without a browser: tests/kilit/access/second_factor
def test_an_app_is_set_up_and_its_code_asked_for_at_the_next_login(guest, ayse) -> None:
    complaints: list[str] = []
    page = watched(guest.enter(), complaints)
    log_in(page)
    open_page(page, PAGES)
    found = faults(page, "overview-empty")
    page.get_by_role("link", name="Set up an authenticator app").click()
    expect(page.get_by_role("img", name="QR code of the secret")).to_be_visible()
    found += faults(page, "app")
    secret = (page.locator("code").text_content() or "").replace(" ", "")
    page.get_by_role("textbox", name="Code").fill(code_of(secret, periods=-1))
    page.get_by_role("button", name="Switch on").click()
    page.get_by_role("link", name="I have stored them").click()

    page.context.clear_cookies()
    log_in(page)
    found += faults(page, "login-code")
    page.get_by_role("textbox", name="Code").fill(code_of(secret))
    page.get_by_role("button", name="Log in").click()

    expect(page).to_have_url(re.compile("/admin/$"))
    assert found + complaints == []


@pytest.mark.nightly  # its pages are four
def test_the_other_pages_keep_no_one_out(guest, ayse, settings) -> None:
    settings.OIDC_ISSUER, settings.OIDC_NAME = "http://127.0.0.1:9", "Example ID"
    complaints: list[str] = []
    page = watched(guest.enter(language="tr"), complaints)
    found = faults(open_page(page, LOGIN), "login-oidc")
    open_page(page, "/admin/login/oidc/callback/")
    found += faults(page, "refused")
    enter_password(client := Client())
    page.context.add_cookies([{"name": "sessionid", "value": client.cookies["sessionid"].value, "url": guest.url}])
    found += faults(open_page(page, CONFIRM), "confirm")
    settings.SECOND_FACTOR = "required"
    found += faults(open_page(page, PAGES), "required")
    set_up_app(client)
    client.post(CODES)
    found += faults(open_page(page, CODES), "codes-tr")

    assert found + [text for text in complaints if "400" not in text] == []
    assert client.get(APP).status_code == 302
