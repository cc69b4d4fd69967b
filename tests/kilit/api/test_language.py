"""Machines are answered in one language, whatever their HTTP library says of its user's."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from tests.support.cutting_jobs import make_job

pytestmark = pytest.mark.django_db

ASKED: dict[str, Callable[[], dict[str, Any]]] = {
    "without a key": lambda: {"path": "/jobs", "headers": {"x-api-key": ""}},
    "with a body that is no JSON": lambda: {"path": "/jobs", "data": "{"},
    "with half an order": lambda: {"path": "/jobs", "data": {"order_id": "S-1"}},
    "for an approval of what is not held": lambda: {"path": f"/jobs/{make_job().pk}/approve"},
    "by another method": lambda: {"path": "/jobs/parts"},
    "for a document of no template": lambda: {"path": "/pdf/jobs", "data": {"template_name": "none"}},
    "for what is not there": lambda: {"path": "/nowhere"},
}


@pytest.mark.parametrize("asked", ASKED)
def test_a_machine_is_answered_in_english(api, asked: str) -> None:
    request = {"content_type": "application/json", "data": {}, "headers": api.headers, **ASKED[asked]()}

    english, answered = (
        Client().post(**request | {"headers": {**api.headers, **request["headers"], "Accept-Language": language}})
        for language in ("en", "tr")
    )

    assert english.status_code >= 400
    assert answered.content == english.content
    assert "Content-Language" not in answered.headers


def test_a_person_is_answered_in_their_language() -> None:
    page = Client().get("/admin/login/", headers={"Accept-Language": "tr"})

    assert page.headers["Content-Language"] == "tr"
    assert "Oturum" in page.content.decode()
