"""Who may read /metrics, and how often it is computed."""

from ipaddress import ip_network
from typing import Any

import pytest
from django.test import Client

from config.web import views
from kilit.web.metrics import MetricsBusyError, ScrapeCache

pytestmark = pytest.mark.django_db

NETWORKS = [ip_network("10.20.0.0/16"), ip_network("2001:db8::7")]


def status(address: str, **headers: str) -> int:
    return Client(REMOTE_ADDR=address, headers=headers).get("/metrics").status_code


def test_in_production_metrics_need_a_token_or_an_allowed_address(settings) -> None:
    settings.PRODUCTION = True
    closed = Client().get("/metrics")
    settings.METRICS_TOKEN = "s3cret"
    opened = Client().get("/metrics", headers={"authorization": "Bearer s3cret"})

    assert (closed.status_code, closed.json()["error"]["code"]) == (403, "FORBIDDEN")
    assert "KILIT_METRICS_TOKEN or KILIT_METRICS_ALLOW" in closed.json()["error"]["message"]
    assert opened.status_code == 200


def test_metrics_are_read_from_allowed_addresses(settings) -> None:
    settings.METRICS_ALLOW = NETWORKS

    assert [status("10.20.3.4"), status("::ffff:10.20.3.4"), status("2001:db8::7")] == [200] * 3
    assert [status("10.21.3.4"), status("2001:db8::8"), status("127.0.0.1"), status("")] == [403] * 4
    assert status("10.21.3.4", x_forwarded_for="10.20.3.4") == 403


def test_behind_a_proxy_the_address_is_that_of_the_client(settings) -> None:
    settings.METRICS_ALLOW, settings.PROXIES = NETWORKS, 1

    assert status("127.0.0.1", x_forwarded_for="10.20.3.4") == 200
    assert status("127.0.0.1", x_forwarded_for="10.20.3.4, 10.21.3.4") == 403
    assert status("10.20.3.4", x_forwarded_for="10.21.3.4") == 403


def test_with_a_token_and_addresses_either_will_do(settings) -> None:
    settings.METRICS_TOKEN, settings.METRICS_ALLOW = "s3cret", NETWORKS

    assert status("10.20.3.4") == 200
    assert status("10.21.3.4", authorization="Bearer s3cret") == 200
    assert status("10.21.3.4", authorization="Bearer wrong") == 401


def test_300_requests_for_the_metrics_compute_them_once(settings, monkeypatch, in_threads: Any) -> None:
    settings.METRICS_SECONDS = 3600
    computed: list[int] = []
    monkeypatch.setattr(views, "scrapes", ScrapeCache(lambda: computed.append(1) or b"text 1\n"))
    Client().get("/metrics")

    statuses = in_threads(lambda _: {Client().get("/metrics").status_code for _ in range(30)}, count=10)

    assert len(computed) == 1
    assert statuses == [{200}] * 10


def test_the_age_of_the_numbers_is_said(settings, monkeypatch) -> None:
    settings.METRICS_SECONDS = 5
    now = [100.0]
    monkeypatch.setattr(views, "scrapes", ScrapeCache(lambda: b"text 1\n", clock=lambda: now[0]))
    Client().get("/metrics")

    now[0] = 103.5
    answer = Client().get("/metrics")

    assert answer["Age"] == "3"
    assert "\nkilit_metrics_age_seconds 3.500\n" in answer.content.decode()


def test_metrics_that_take_long_to_compute_are_503_for_those_who_do_not_wait(monkeypatch) -> None:
    def read(**_: float) -> None:
        raise MetricsBusyError

    monkeypatch.setattr(views.scrapes, "read", read)

    answer = Client().get("/metrics")

    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "UNAVAILABLE")
    assert answer["Retry-After"]


def test_the_login_page_needs_neither_the_database_nor_a_session(django_assert_num_queries) -> None:
    client = Client()

    with django_assert_num_queries(0):
        answer = client.get("/admin/login/")

    assert answer.status_code == 200
    assert set(answer.cookies) == {"csrftoken"}
