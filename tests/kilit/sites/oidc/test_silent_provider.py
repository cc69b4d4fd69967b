"""A provider that does not answer: few threads wait for it, not for long, and everyone else is answered at once."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.core.cache import cache
from django.db import connections
from django.test import Client

from kilit.sites.oidc import client as asking
from kilit.sites.oidc.client import TURNS
from tests.support.second_factors import PASSWORD, is_logged_in
from tests.support.silent_provider import SilentProvider, silent_provider
from tests.support.waiting import PATIENCE, wait_until

pytestmark = pytest.mark.django_db

START = "/admin/login/oidc/"
SILENCE = "Example ID does not answer. Try again in"


@pytest.fixture
def silent(provider, settings, monkeypatch) -> Iterator[SilentProvider]:
    """A silent provider, for which a thread waits until the test ends it."""
    monkeypatch.setattr(asking, "TIME_LIMIT", PATIENCE)
    with silent_provider() as found:
        settings.OIDC_ISSUER = found.address
        yield found


def ask(address: str, client: Client) -> Any:
    try:
        return client.get(address)
    finally:
        connections.close_all()


def ask_all(silent: SilentProvider, links: list[str], clients: list[Client]) -> list[int]:
    """Ask at once, and end the provider when no one waits but those who wait for it; return the sorted statuses."""
    with ThreadPoolExecutor(len(links)) as pool:
        answers = [pool.submit(ask, link, client) for link, client in zip(links, clients, strict=True)]
        wait_until(lambda: sum(answer.done() for answer in answers) + len(silent.connections) == len(links), every=0.01)
        silent.end()
        return sorted(answer.result(PATIENCE).status_code for answer in answers)


def test_one_thread_asks_a_silent_provider_and_the_others_are_answered_at_once(silent) -> None:
    assert ask_all(silent, [START] * 24, [Client() for _ in range(24)]) == [502] + [503] * 23
    assert len(silent.connections) == 1


def test_a_silence_is_remembered_and_the_login_page_says_so_in_the_users_language(provider, settings) -> None:
    settings.OIDC_ISSUER = "http://127.0.0.1:9"
    client = Client()

    first, second, login = client.get(START), client.get(START), client.get("/admin/login/")
    client.cookies["django_language"] = "tr"
    turkish = client.get("/admin/login/")

    assert (first.status_code, second.status_code, login.status_code) == (502, 503, 200)
    assert 0 < int(second["Retry-After"]) <= asking.PAUSE
    for page in (first, second, login):
        assert SILENCE in page.content.decode()
        assert "or log in with your password." in page.content.decode()
    assert "Example ID yanıt vermiyor." in turkish.content.decode()


def test_a_password_logs_in_from_the_page_of_a_silent_provider(provider, settings, django_user_model) -> None:
    django_user_model.objects.create_superuser("boss", "", PASSWORD)
    settings.OIDC_ISSUER = "http://127.0.0.1:9"
    client = Client()
    page = client.get(f"{START}?next=/admin/preferences/").content.decode()
    assert 'action="/admin/login/?next=%2Fadmin%2Fpreferences%2F"' in page

    answer = client.post("/admin/login/?next=%2Fadmin%2Fpreferences%2F", {"username": "boss", "password": PASSWORD})

    assert answer["Location"] == "/admin/preferences/"
    assert is_logged_in(client)


def test_after_the_pause_a_provider_that_answers_again_is_used(provider, log_in) -> None:
    TURNS.pause()
    assert Client().get(START).status_code == 503
    TURNS.resume()

    log_in(client := Client())

    assert is_logged_in(client)
    assert SILENCE not in Client().get("/admin/login/").content.decode()


@pytest.mark.parametrize("endpoint", ["token_endpoint", "jwks_uri", "userinfo_endpoint"])
def test_few_threads_wait_for_a_provider_that_is_silent_in_the_middle_of_a_login(
    provider, silent, settings, come_back, endpoint
) -> None:
    settings.OIDC_ISSUER = provider.address
    provider.described = {endpoint: silent.address}
    del provider.person["groups"]  # they are asked for at the last endpoint
    clients = [Client() for _ in range(8)]
    links = [come_back(client) for client in clients]

    assert ask_all(silent, links, clients) == [502] * 2 + [503] * 6
    assert len(silent.connections) == 2
    assert not any(is_logged_in(client) for client in clients)


@pytest.mark.parametrize("slow_part", ["header", "body"])
def test_an_answer_that_comes_byte_by_byte_has_the_same_deadline(provider, settings, monkeypatch, slow_part) -> None:
    monkeypatch.setattr(asking, "TIME_LIMIT", 0.3)
    begin, end = b"HTTP/1.1 200 OK\r\n", b"Connection: close\r\n\r\n"
    filling = b"X-Slow: " + b"a" * 500 + b"\r\n" if slow_part == "header" else b""
    with silent_provider() as slow:
        settings.OIDC_ISSUER = slow.address
        described = json.dumps(provider.discovery() | {"issuer": slow.address}).encode()
        slow.answer = begin + filling + end + b" " * (500 - len(filling)) + described

        answer = Client().get(START)

    assert answer.status_code == 502
    assert SILENCE in answer.content.decode()


@pytest.mark.parametrize("described", [{"token_endpoint_auth_methods_supported": 7}, {"jwks_uri": "file:///etc"}])
def test_odd_descriptions_get_a_page(provider, come_back, described) -> None:
    provider.described = described
    client = Client()

    answer = client.get(come_back(client))

    assert answer.status_code in (302, 502)


@pytest.mark.parametrize(
    "body",
    [b"[" * 100_000, b"7", b"\xff", b"{" + b" " * (asking.MOST_BYTES + 1) + b"}"],
    ids=["deep", "7", "ff", "large"],
)
def test_odd_answers_get_a_page(provider, settings, monkeypatch, body) -> None:
    monkeypatch.setattr("tests.support.silent_provider.BYTES_EVERY", 0)
    monkeypatch.setattr(asking, "TIME_LIMIT", PATIENCE)
    head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    with silent_provider() as odd:
        settings.OIDC_ISSUER = odd.address
        monkeypatch.setattr(odd, "_trickle", lambda connection: connection.sendall(head + body))
        odd.answer = body

        answer = Client().get(START)

    assert answer.status_code == 502
    assert "Example ID does not answer as expected." in answer.content.decode()
    assert cache.get(f"kilit.oidc.{settings.OIDC_ISSUER}") is None
