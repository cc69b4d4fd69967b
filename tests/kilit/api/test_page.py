"""Who may read the schema, and the page to read it on."""

import re

import pytest
from django.contrib.auth.models import User
from django.contrib.staticfiles import finders
from django.test import Client
from django.urls import reverse

from kilit.access.models import ApiKey

pytestmark = pytest.mark.django_db


def test_a_stranger_sees_neither_schema_nor_page() -> None:
    schema, page = Client().get(reverse("api-schema")), Client().get(reverse("api-docs"))

    assert (schema.status_code, schema.json()["error"]["code"]) == (401, "UNAUTHENTICATED")
    assert page.status_code == 302
    assert page.headers["Location"].startswith(reverse("admin:login"))


def test_a_key_fetches_the_schema_for_a_generator_of_clients() -> None:
    key = ApiKey.objects.issue(User.objects.create_user("shop"), name="test")[1]

    answer = Client().get(reverse("api-schema"), headers={"x-api-key": key, "accept": "application/json"})

    assert answer.json()["openapi"] == "3.1.0"


def test_the_page_needs_nothing_from_elsewhere_and_no_inline_script(admin_client) -> None:
    page = admin_client.get(reverse("api-docs"))
    html = page.content.decode()
    links = re.findall(r'(?:src|href)="([^"]+)"', html)
    script = admin_client.get(reverse("api-docs") + "?script=")

    assert page.status_code == 200
    assert links
    assert all(link.startswith(("/static/", "/api/docs/", "/admin/")) for link in links)
    assert all(finders.find(link.removeprefix("/static/")) for link in links if link.startswith("/static/"))
    assert re.search(r"<script>|\son\w+=", html) is None
    assert reverse("api-schema") in script.content.decode().replace("\\u002D", "-")


def test_many_who_ask_at_once_get_the_schema(transactional_db, in_threads) -> None:
    """drf-spectacular keeps what it is making where every thread of a process finds it."""
    key = ApiKey.objects.issue(User.objects.create_user("shop"), name="test")[1]

    def ask(_: int) -> bytes:
        return bytes(Client().get(reverse("api-schema"), headers={"x-api-key": key}).content)

    assert len(set(in_threads(ask, count=4))) == 1
