"""Lockout after wrong passwords: shown to the user, limited in time, and lifted by an admin."""

from datetime import UTC, datetime, timedelta

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db.models import F
from django.test import Client
from django.utils import timezone

from kilit.access.lockout import client_address, forget_attempts
from kilit.access.models import ApiKey, DeniedRequest, LoginWindow
from tests.support.people import make_user

pytestmark = pytest.mark.django_db

LOGIN = "/admin/login/"
RIGHT = {"username": "ayse", "password": "a right long password"}
WRONG = {"username": "ayse", "password": "a wrong long password"}
LIST = "/admin/access/loginwindow/"


@pytest.fixture
def ayse(db) -> User:
    return make_user(RIGHT["username"], password=RIGHT["password"])


def guess(times: int = settings.LOGIN_TRIES, **headers: str):
    """Return the last response."""
    return [Client().post(LOGIN, WRONG, **headers) for _ in range(times)][-1]


def enters(body=RIGHT, **headers: str) -> bool:
    return Client().post(LOGIN, body, **headers).status_code == 302


def test_wrong_passwords_lock_the_username_and_the_page_says_for_how_long(ayse) -> None:
    assert guess(settings.LOGIN_TRIES - 1).status_code == 200

    answer = guess(1)

    shown = answer.content.decode()
    assert answer.status_code == 429
    assert 0 < int(answer["Retry-After"]) <= settings.LOCKOUT_TIME.total_seconds()
    assert "Too many failed logins" in shown
    assert "Try again in 15 minutes." in shown
    assert not enters()
    assert DeniedRequest.objects.filter(code="LOCKED_OUT").exists()


def test_an_unknown_username_gets_the_same_response(ayse) -> None:
    real = guess()
    made_up = [Client().post(LOGIN, {**WRONG, "username": "nobody"}) for _ in range(settings.LOGIN_TRIES)][-1]

    assert made_up.status_code == real.status_code == 429
    assert "Try again in 15 minutes." in made_up.content.decode()


def test_other_usernames_and_addresses_are_not_locked(ayse) -> None:
    User.objects.create_user("fatma", password=RIGHT["password"], is_staff=True)
    guess()

    assert enters({**RIGHT, "username": "fatma"})
    assert enters(REMOTE_ADDR="10.0.0.9")


def test_the_lockout_ends_when_announced_and_attempts_do_not_extend_it(ayse) -> None:
    guess()
    LoginWindow.objects.update(last_at=F("last_at") - settings.LOCKOUT_TIME + timedelta(seconds=60))
    assert int(guess(1)["Retry-After"]) <= 60

    LoginWindow.objects.update(last_at=F("last_at") - timedelta(seconds=61))

    assert enters()


def test_a_correct_password_resets_the_count(ayse) -> None:
    guess(settings.LOGIN_TRIES - 1)
    assert enters()

    guess(settings.LOGIN_TRIES - 1)

    assert enters()


def spray(names: int, **headers: str) -> list[int]:
    """Try one password with many names, as an attacker does to stay below the limit of each."""
    return [Client().post(LOGIN, {**WRONG, "username": f"user{n}"}, **headers).status_code for n in range(names)]


def test_an_address_that_tries_many_names_is_locked(ayse, settings) -> None:
    settings.LOGIN_TRIES_PER_ADDRESS = 8

    answers = spray(10, REMOTE_ADDR="10.0.0.9")

    assert answers == [200] * 7 + [429] * 3
    assert not enters(REMOTE_ADDR="10.0.0.9")
    assert enters(REMOTE_ADDR="10.0.0.10")


def test_an_ipv6_network_counts_as_one_address(ayse, settings) -> None:
    settings.LOGIN_TRIES_PER_ADDRESS = 3

    for n in range(3):
        Client().post(LOGIN, {**WRONG, "username": f"user{n}"}, REMOTE_ADDR=f"2001:db8::{n}")

    assert not enters(REMOTE_ADDR="2001:db8::ffff")
    assert enters(REMOTE_ADDR="2001:db8:0:1::1")


def test_a_name_that_is_tried_from_many_addresses_waits_longer_each_time(ayse, settings) -> None:
    settings.LOGIN_TRIES_PER_NAME = 3
    answer = [guess(1, REMOTE_ADDR=f"10.0.0.{n}") for n in range(3)][-1]
    assert answer.status_code == 429
    assert "too many failed logins" in answer.content.decode()
    assert not enters(REMOTE_ADDR="10.0.1.1")

    seconds = [int(answer["Retry-After"])]
    for n in range(5):
        LoginWindow.objects.update(last_at=F("last_at") - timedelta(seconds=seconds[-1] + 1))
        seconds.append(int(guess(1, REMOTE_ADDR=f"10.0.2.{n}")["Retry-After"]))

    longest = [30, 60, 120, 240, 480, 900]
    assert all(most / 2 < found <= most for found, most in zip(seconds, longest, strict=False)), seconds


def test_strangers_do_not_lock_a_user_out_where_the_user_is_known(ayse, settings) -> None:
    settings.LOGIN_TRIES_PER_NAME, settings.LOGIN_TRIES_PER_ADDRESS = 3, 6
    assert enters(REMOTE_ADDR="10.0.0.1")
    for n in range(3):
        guess(1, REMOTE_ADDR=f"10.0.9.{n}")
    spray(6, REMOTE_ADDR="10.0.0.1")  # as behind one proxy

    assert enters(REMOTE_ADDR="10.0.0.1")
    assert not enters(REMOTE_ADDR="10.0.0.2")
    assert guess(settings.LOGIN_TRIES, REMOTE_ADDR="10.0.0.1").status_code == 429  # still five for the name here
    LoginWindow.objects.filter(name__startswith="known:").update(last_at=F("last_at") - timedelta(days=91))
    assert not enters(REMOTE_ADDR="10.0.0.1")


def test_tries_during_a_lockout_do_not_extend_it(ayse, settings) -> None:
    settings.LOGIN_TRIES_PER_ADDRESS = 2
    spray(20, REMOTE_ADDR="10.0.0.9")

    LoginWindow.objects.update(last_at=F("last_at") - settings.LOCKOUT_TIME)

    assert enters(REMOTE_ADDR="10.0.0.9")


def test_an_unlocked_name_is_free_at_once_and_everywhere(ayse, admin_client, settings) -> None:
    settings.LOGIN_TRIES_PER_NAME = 3
    for n in range(3):
        guess(1, REMOTE_ADDR=f"10.0.0.{n}")
    attempt = LoginWindow.objects.filter(username="ayse").earliest("last_at")
    assert "locked until" in admin_client.get(LIST).content.decode()

    admin_client.post(LIST, {"action": "release", "_selected_action": [attempt.pk]})

    assert enters(REMOTE_ADDR="10.0.1.1")


def test_the_clock_of_a_web_server_does_not_end_a_lockout(ayse, monkeypatch) -> None:
    guess()

    later = datetime.now(UTC) + timedelta(hours=1)
    monkeypatch.setattr(timezone, "now", lambda: later)

    assert not enters()


def test_neither_names_nor_addresses_are_in_the_counts(ayse) -> None:
    guess(1, REMOTE_ADDR="10.0.0.9")

    stored = " ".join(LoginWindow.objects.values_list("name", flat=True))
    assert sorted(name.partition(":")[0] for name in stored.split()) == ["address", "login", "name"]
    assert "ayse" not in stored
    assert "10.0" not in stored


@pytest.mark.django_db(transaction=True)
def test_concurrent_attempts_are_all_counted(ayse, in_threads) -> None:
    answers = in_threads(lambda _: Client().post(LOGIN, WRONG).status_code, count=12)
    by_name = LoginWindow.objects.get(name__startswith="name:").failures

    # Requests in flight when the limit was reached still count; later ones were rejected without a check.
    counted = LoginWindow.objects.get(username="ayse").failures
    assert answers.count(200) < settings.LOGIN_TRIES <= counted <= 12
    assert answers.count(200) + answers.count(429) == 12
    assert by_name == counted
    assert not enters()


@pytest.mark.parametrize("door", ["console", "command"])
def test_an_admin_can_unlock(ayse, admin_client, door: str) -> None:
    guess()
    guess(1, HTTP_USER_AGENT="another")
    attempt = LoginWindow.objects.filter(username="ayse").earliest("last_at")

    if door == "console":
        assert "locked until" in admin_client.get(LIST).content.decode()
        answer = admin_client.post(LIST, {"action": "release", "_selected_action": [attempt.pk]}, follow=True)
        assert "Unlocked 1 username." in answer.content.decode()
    else:
        call_command("unlock", "ayse")

    assert enters()


def test_only_admins_can_see_and_unlock(ayse, client) -> None:
    client.force_login(ayse)
    guess()

    assert client.get(LIST).status_code == 403
    assert client.post(LIST, {"action": "release", "_selected_action": ["1"]}).status_code == 403
    assert LoginWindow.objects.filter(username="ayse").exists()


def test_a_locked_users_keys_still_work(ayse) -> None:
    _, text = ApiKey.objects.issue(ayse, name="test")
    guess()

    answer = Client().get("/pdf/templates", headers={"x-api-key": text})

    assert answer.status_code != 401


def test_passwords_are_not_stored(ayse) -> None:
    guess()
    Client().post(LOGIN, {**WRONG, "next": "/admin/?secret=1"}, REMOTE_ADDR="10.0.0.9")
    assert enters(REMOTE_ADDR="10.0.0.8")

    stored = " ".join(str(row) for row in LoginWindow.objects.values_list())
    assert WRONG["password"] not in stored
    assert "secret=1" not in stored


def test_the_scheduled_task_deletes_old_attempts(ayse, monkeypatch) -> None:
    guess(1)
    guess(1, REMOTE_ADDR="10.0.0.9")
    LoginWindow.objects.filter(address="10.0.0.9").update(last_at=F("last_at") - settings.LOCKOUT_TIME)
    ahead = timezone.now() + 2 * settings.LOCKOUT_TIME
    monkeypatch.setattr(timezone, "now", lambda: ahead)  # the worker's clock does not count

    LoginWindow.objects.create(name="name:old", failures=1, last_at=datetime.now(UTC) - settings.LOCKOUT_TIME * 2)
    LoginWindow.objects.create(name="known:here", failures=0, last_at=datetime.now(UTC) - timedelta(days=89))

    assert forget_attempts() == "Deleted 2."
    assert LoginWindow.objects.filter(name="known:here").exists()
    assert LoginWindow.objects.exclude(username="").get().address == "127.0.0.1"


@pytest.mark.parametrize(
    ("proxies", "header", "address"),
    [
        (0, "", "10.0.0.1"),
        (0, "6.6.6.6", "10.0.0.1"),  # sent by the client
        (1, "6.6.6.6, 7.7.7.7", "7.7.7.7"),  # the first was sent by the client
        (2, "6.6.6.6, 7.7.7.7, 8.8.8.8", "7.7.7.7"),
        (1, "2001:db8::1", "2001:db8::1"),
        (1, "", "10.0.0.1"),  # not through the proxy
        (2, "7.7.7.7", "10.0.0.1"),
        (1, "nonsense", "10.0.0.1"),
    ],
)
def test_only_the_entries_of_our_own_proxies_are_trusted(rf, settings, proxies: int, header: str, address: str) -> None:
    settings.PROXIES = proxies
    headers = {"x-forwarded-for": header} if header else {}

    assert client_address(rf.get("/", headers=headers, REMOTE_ADDR="10.0.0.1")) == address


@pytest.mark.parametrize(("header", "value"), [("USER_AGENT", "browser {}"), ("X_FORWARDED_FOR", "6.6.6.{}")])
def test_a_forged_header_does_not_avoid_the_lockout(ayse, header: str, value: str) -> None:
    for number in range(settings.LOGIN_TRIES):
        guess(1, **{f"HTTP_{header}": value.format(number)})

    assert not enters(**{f"HTTP_{header}": value.format(200)})
