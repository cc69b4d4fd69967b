"""A user's own pages: an authenticator app, recovery codes, and what a superuser removes."""

import re
import time

import pytest
from allauth.account.internal.flows.login import AUTHENTICATION_METHODS_SESSION_KEY
from allauth.mfa.models import Authenticator
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client

from kilit.sites.models import SiteMembership
from ociqueue.models import Site
from tests.support.people import make_user
from tests.support.second_factors import (
    APP,
    CODES,
    CONFIRM,
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


def let_time_pass(client: Client) -> None:
    """Have the password entered six minutes ago."""
    session = client.session
    session[AUTHENTICATION_METHODS_SESSION_KEY] = [
        {**record, "at": time.time() - 360} for record in session[AUTHENTICATION_METHODS_SESSION_KEY]
    ]
    session.save()


def test_an_app_is_set_up_with_a_code_that_it_shows(browser, ayse) -> None:
    page = browser.get(APP).content.decode()
    assert "<svg" in page

    secret, _codes = set_up_app(browser)

    (stored,) = Authenticator.objects.filter(user=ayse, type="totp")
    assert secret not in str(stored.data)
    assert LogEntry.objects.get(user=ayse).change_message == "Added an authenticator app"


def test_an_app_that_shows_another_code_is_not_set_up(browser, ayse) -> None:
    browser.get(APP)

    answer = browser.post(APP, {"code": "abc"})

    assert "This is not the code that the app shows now." in answer.content.decode()
    assert not Authenticator.objects.exists()


def test_the_recovery_codes_are_shown_once(browser) -> None:
    _secret, codes = set_up_app(browser)

    answer = browser.get(CODES, follow=True)

    assert codes[0] not in answer.content.decode()
    assert "10 codes are left" in answer.content.decode()


def test_new_recovery_codes_end_the_old_ones(browser) -> None:
    _secret, old = set_up_app(browser)

    new = re.findall(r"<li>(\d{4} \d{4})</li>", browser.post(CODES, follow=True).content.decode())

    assert len(new) == 10
    assert not set(old) & set(new)
    other = Client()
    enter_password(other)
    assert enter_code(other, old[0]).status_code == 200
    assert enter_code(other, new[0]).status_code == 302


def test_a_removed_app_is_no_longer_asked_for(browser, ayse) -> None:
    set_up_app(browser)

    browser.post(REMOVE_APP)

    assert not Authenticator.objects.exists()
    enter_password(other := Client())
    assert is_logged_in(other)
    assert LogEntry.objects.filter(user=ayse, change_message="Removed the authenticator app").exists()


@pytest.mark.parametrize("address", [REMOVE_APP, CODES, APP])
def test_a_change_asks_for_the_password_again_after_a_while(browser, address) -> None:
    if address != APP:
        set_up_app(browser)
    before = list(Authenticator.objects.values("type", "data"))
    let_time_pass(browser)

    asked = browser.post(address, {"code": "1"})

    assert asked["Location"] == f"{CONFIRM}?next={address}"
    assert list(Authenticator.objects.values("type", "data")) == before
    wrong = browser.post(asked["Location"], {"password": "another"})
    assert "This password is wrong." in wrong.content.decode()
    right = browser.post(asked["Location"], {"password": PASSWORD})
    assert right["Location"] == (PAGES if address == REMOVE_APP else address)
    assert browser.post(address, {"code": "1"}).headers.get("Location", "") != asked["Location"]


def test_wrong_passwords_of_a_confirmation_count_as_those_of_a_login(browser, settings) -> None:
    let_time_pass(browser)

    answers = [browser.post(CONFIRM, {"password": "x"}).status_code for _ in range(settings.LOGIN_TRIES)]

    assert answers[-1] == 429


def test_a_confirmation_leads_to_no_other_site(browser) -> None:
    answer = browser.post(f"{CONFIRM}?next=https://evil.example/", {"password": PASSWORD})

    assert answer["Location"] == PAGES


def test_a_session_from_before_the_second_factor_cannot_change_it(browser) -> None:
    thief = Client()
    enter_password(thief)
    set_up_app(browser)

    assert thief.post(REMOVE_APP)["Location"] == LOGIN
    assert not is_logged_in(thief)
    assert Authenticator.objects.filter(type="totp").exists()


def test_without_the_setting_there_are_no_pages_and_no_code_is_asked_for(settings) -> None:
    with_app()
    settings.SECOND_FACTOR = "off"
    client = Client()

    assert enter_password(client)["Location"] == "/admin/"
    assert {client.get(address).status_code for address in (PAGES, APP, CODES, CONFIRM, f"{LOGIN}code/")} == {404}
    assert "second-factor" not in client.get("/admin/").content.decode()


def test_a_user_with_a_second_factor_can_be_deleted_while_it_is_off(admin_client, settings) -> None:
    user, _secret, _codes = with_app()
    settings.SECOND_FACTOR = "off"

    admin_client.post(f"/admin/auth/user/{user.pk}/delete/", {"post": "yes"})

    assert not User.objects.filter(pk=user.pk).exists()


# Superusers


def remove_by_action(client: Client, *users: User) -> None:
    chosen = [str(user.pk) for user in users]
    client.post("/admin/auth/user/", {"action": "remove_second_factor", "_selected_action": chosen})


def test_an_owner_removes_the_second_factor_of_someone_who_lost_it(client) -> None:
    user, _secret, _codes = with_app()
    owner = make_user("owner", role="owner")
    client.force_login(owner)

    remove_by_action(client, user)

    assert not Authenticator.objects.exists()
    logged = LogEntry.objects.get(user=owner, object_id=str(user.pk))
    assert logged.change_message == "Removed the second factor"
    enter_password(client := Client())
    assert is_logged_in(client)


def test_the_list_of_users_shows_who_has_one(admin_client, settings) -> None:
    with_app()

    page = admin_client.get("/admin/auth/user/")
    settings.SECOND_FACTOR = "off"

    assert {user.username: user.has_second_factor for user in page.context["cl"].queryset} == {
        "admin": False,
        "ayse": True,
    }
    assert "column-second_factor" in page.content.decode()
    assert "column-second_factor" not in admin_client.get("/admin/auth/user/").content.decode()


def test_nobody_but_an_owner_removes_anothers_second_factor(make_person) -> None:
    user, _secret, _codes = with_app()
    site = Site.objects.create(name="A")
    client = make_person("boss", role="admin", sites=[site])
    SiteMembership.objects.create(site=site, user=user, role="operator")
    assert user in client.get("/admin/auth/user/").context["cl"].queryset

    remove_by_action(client, user)

    assert Authenticator.objects.filter(user=user, type="totp").exists()


def test_an_owner_does_not_remove_the_second_factor_of_a_superuser(client, admin_user) -> None:
    Authenticator.objects.create(user=admin_user, type="totp", data={})
    client.force_login(make_user("owner", role="owner"))

    remove_by_action(client, admin_user)

    assert Authenticator.objects.exists()


def test_a_superusers_own_is_not_removed_by_the_action(admin_client, admin_user) -> None:
    Authenticator.objects.create(user=admin_user, type="totp", data={})

    remove_by_action(admin_client, admin_user)

    assert Authenticator.objects.exists()


# Keys


def test_secrets_are_encrypted_again_when_keys_rotate(settings, capsys) -> None:
    settings.CREDENTIAL_KEYS = ["old"]
    _user, secret, codes = with_app()
    settings.CREDENTIAL_KEYS = ["new", "old"]

    call_command("reencrypt_secrets")

    assert "Encrypted 2." in capsys.readouterr().out
    settings.CREDENTIAL_KEYS = ["new"]
    enter_password(client := Client())
    assert enter_code(client, code_of(secret)).status_code == 302
    enter_password(client := Client())
    assert enter_code(client, codes[0]).status_code == 302


def test_a_secret_that_no_key_decrypts_is_an_error_in_the_log_and_no_fault(settings, caplog) -> None:
    settings.CREDENTIAL_KEYS = ["old"]
    _user, secret, _codes = with_app()
    settings.CREDENTIAL_KEYS = ["new"]
    enter_password(client := Client())

    assert enter_code(client, code_of(secret)).status_code == 200
    assert "none of KILIT_CREDENTIAL_KEYS decrypts a second factor" in caplog.text


def test_the_command_removes_the_second_factor_of_one_user_and_logs_it(capsys) -> None:
    root, _secret, _codes = with_app("root")
    with_app("other")

    call_command("remove_second_factor", "root")
    call_command("remove_second_factor", "root")

    assert capsys.readouterr().out == "Removed the second factor of root.\nroot has no second factor.\n"
    assert set(Authenticator.objects.values_list("user__username", flat=True)) == {"other"}
    assert LogEntry.objects.filter(object_id=root.pk, change_message="Removed the second factor").count() == 1


def test_the_command_refuses_a_user_who_does_not_exist() -> None:
    with pytest.raises(CommandError, match="There is no user nobody"):
        call_command("remove_second_factor", "nobody")
