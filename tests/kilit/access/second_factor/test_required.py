"""Where a second factor is required, a user without one sets one up before anything else."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from kilit.access.models import ApiKey
from tests.support.second_factors import (
    APP,
    LOGIN,
    PAGES,
    PASSWORD,
    REMOVE_APP,
    code_of,
    enter_code,
    enter_password,
    is_logged_in,
    set_up_app,
    with_app,
)

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _second_factor_is_required(settings) -> None:
    settings.SECOND_FACTOR = "required"


@pytest.fixture
def browser() -> Client:
    User.objects.create_superuser("ayse", password=PASSWORD)
    client = Client()
    enter_password(client)
    return client


@pytest.mark.parametrize(
    "address", ["/admin/", "/admin/auth/user/", "/admin/preferences/", "/api/docs/", "/admin/password_change/"]
)
def test_a_user_without_a_second_factor_is_sent_to_set_one_up(browser, address) -> None:
    answer = browser.get(address)

    assert answer.status_code == 302
    assert answer["Location"] == PAGES or answer["Location"].startswith(LOGIN)
    assert "Your account needs a second factor before you can go on." in browser.get(PAGES).content.decode()


def test_its_session_opens_nothing_of_the_api(browser) -> None:
    assert browser.get("/jobs").status_code == 401
    assert browser.post("/api/outbox/messages/replay", {}, content_type="application/json").status_code in {401, 404}


def test_a_key_is_not_affected_by_a_session(browser) -> None:
    _key, text = ApiKey.objects.issue(User.objects.get(username="ayse"), name="test")

    assert browser.get("/jobs", headers={"x-api-key": text}).status_code == 200


def test_nothing_is_changed_by_a_form_either(browser) -> None:
    answer = browser.post("/admin/auth/user/add/", {"username": "new", "password1": PASSWORD, "password2": PASSWORD})

    assert answer["Location"] == PAGES
    assert not User.objects.filter(username="new").exists()


def test_with_a_second_factor_everything_opens(browser) -> None:
    set_up_app(browser)

    assert is_logged_in(browser)
    assert browser.get("/jobs").status_code == 200


def test_a_user_can_log_out_and_change_the_language_meanwhile(browser) -> None:
    assert browser.post("/admin/language/", {"language": "tr"})["Location"]
    assert "Authenticator app" not in browser.get(PAGES).content.decode()
    assert browser.post("/admin/logout/").status_code in {200, 302}
    assert browser.get(PAGES)["Location"].startswith(LOGIN)


def test_a_session_that_began_without_the_second_factor_of_its_user_ends() -> None:
    _user, secret, _codes = with_app()
    client = Client()
    client.force_login(User.objects.get(username="ayse"))

    assert client.get("/admin/")["Location"] == PAGES
    assert client.get(PAGES)["Location"] == LOGIN
    assert "_auth_user_id" not in client.session
    enter_password(client)
    enter_code(client, code_of(secret))
    assert is_logged_in(client)


def test_a_user_who_removes_the_only_one_has_to_set_one_up_again(browser) -> None:
    set_up_app(browser)

    browser.post(REMOVE_APP)

    assert browser.get("/admin/")["Location"] == PAGES
    assert browser.get(APP).status_code == 200


def test_a_page_that_updates_itself_is_left_as_it_is(browser) -> None:
    assert browser.get("/admin/live/", headers={"HX-Request": "true"}).status_code == 204
