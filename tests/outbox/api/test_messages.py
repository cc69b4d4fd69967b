"""The API of messages, as a site's key, people and admins see it."""

import json
from datetime import timedelta

import pytest
from django.utils import timezone

from ociqueue.models import Site
from tests.support.api import Api
from tests.support.outbox import make_attempt, make_endpoint, make_failed_message, make_message

pytestmark = pytest.mark.django_db


def test_messages_are_listed_by_page_and_filter(site: Site, api: Api) -> None:
    first, second = make_endpoint(scope=str(site.pk)), make_endpoint(scope=str(site.pk))
    others = make_message(endpoint=make_endpoint(scope="another"))
    mine = [make_message(endpoint=endpoint) for endpoint in (first, second, first)] + [
        make_failed_message(endpoint=second)
    ]
    ids = [message.webhook_id for message in reversed(mine)]

    page = api("GET", "messages", limit="3").json()
    rest = api("GET", "messages", limit="3", cursor=page["next_cursor"]).json()

    assert [row["id"] for row in page["messages"] + rest["messages"]] == ids
    assert "next_cursor" not in rest
    listed = {
        "status": api("GET", "messages", status="FAILED"),
        "endpoint": api("GET", "messages", endpoint=str(second.pk)),
        "other": api("GET", "messages", endpoint=str(others.endpoint_id)),
        "since": api("GET", "messages", since=(timezone.now() + timedelta(hours=2)).isoformat()),
        "kind": api("GET", "messages", kind="parcel.carried"),
    }
    assert {name: len(answer.json()["messages"]) for name, answer in listed.items()} == {
        "status": 1,
        "endpoint": 2,
        "other": 0,
        "since": 0,
        "kind": 4,
    }
    for wrong in ({"status": "LOST"}, {"since": "0001-01-01T00:00:00Z"}, {"since": "noon"}, {"cursor": "x"}):
        assert api("GET", "messages", **wrong).status_code == 400


def test_an_owner_sees_all_messages(owner: Api) -> None:
    make_message(endpoint=make_endpoint(scope="another"))
    make_message(endpoint=make_endpoint())

    assert len(owner("GET", "messages").json()["messages"]) == 2


def test_a_message_has_its_text_and_attempts(site: Site, api: Api) -> None:
    message = make_message(
        endpoint=make_endpoint(scope=str(site.pk), url="https://shop.example/h?t=secret"), body='{"a": 1}'
    )
    for number in (1, 2):
        make_attempt(message, number=number, url="https://shop.example/h?t=secret", answer="no /h?t=secret")

    for name in (message.webhook_id, str(message.pk)):
        found = api("GET", f"messages/{name}").json()
        assert (found["body"], [attempt["number"] for attempt in found["attempts"]]) == ('{"a": 1}', [1, 2])
        assert found["url"] == "https://shop.example/h?…"
        assert "secret" not in json.dumps(found)


def test_a_failed_message_is_retried_and_no_other(site: Site, api: Api, viewer: Api) -> None:
    message = make_failed_message(endpoint=make_endpoint(scope=str(site.pk)))

    assert viewer("POST", f"messages/{message.webhook_id}/retry").status_code == 403
    answer = api("POST", f"messages/{message.webhook_id}/retry")
    again = api("POST", f"messages/{message.webhook_id}/retry")

    assert (answer.status_code, answer.json()["status"], answer.json()["error_code"]) == (200, "QUEUED", None)
    assert (again.status_code, again.json()["error"]["code"]) == (409, "MOVE_REFUSED")


@pytest.mark.parametrize("path", ["messages/msg_1", "messages/%F0%9F%98%80", "endpoints/1"])
def test_what_is_no_id_is_not_found(api: Api, path: str) -> None:
    assert api("GET", path).status_code == 404
