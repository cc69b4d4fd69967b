"""Scopes of keys: what a key may be used for, at every endpoint that takes one."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.test import Client

from kilit.access.key_scopes import DEFAULT_SCOPES, KeyScope
from kilit.access.models import ApiKey, DeniedRequest
from kilit.ask.verbs import VERBS
from ociqueue.models import Conversion
from tests.support.api import Api, is_limited
from tests.support.api_conformance import schema
from tests.support.conversions import SALE

pytestmark = pytest.mark.django_db

# Each operation that takes a key, with the scope that its description names.
OPERATIONS = {
    f"{method.upper()} {path}": next(way["key"] for way in operation["security"] if "key" in way)
    for path, operations in schema()["paths"].items()
    for method, operation in operations.items()
    if any("key" in way for way in operation["security"])
}


def key_of(user: User, *scopes: str) -> str:
    ends = datetime.now(UTC) + timedelta(days=7)
    return ApiKey.objects.issue(user, name="test", scopes=scopes, expires_at=ends)[1]


def ask(key: str, operation: str) -> Any:
    method, _, path = operation.partition(" ")
    address = re.sub(r"\{\w+\}", "0192e4a0-7c1e-7d2a-9b3c-4d5e6f708192", path)
    client = Client(headers={"x-api-key": key})
    if method == "GET":
        return client.get(address)
    return client.generic(method, address, b"{}", content_type="application/json")


def test_the_scope_of_what_machines_do_most() -> None:
    managing = {f"/api/oci/{name}" for name in ("sites", "members", "keys", "credentials")}
    assert {name for name, scopes in OPERATIONS.items() if scopes == ["admin"]} == {
        *(f"{method} {path}" for path in managing for method in ("GET", "POST")),
        *(f"POST /api/oci/sites/{verb}" for verb in ("pause", "resume", "archive", "restore", "sender")),
        *("POST /api/oci/keys/revoke", "POST /api/oci/credentials/test"),
        *(f"GET /api/oci/{name}" for name in ("queue-stats", "queue-rows", "google-counts")),
    }
    assert {name: scopes for name, scopes in OPERATIONS.items() if "/oci/" in name and scopes != ["admin"]} == {
        "GET /api/oci/conversions": ["read"],
        "POST /api/oci/conversions": ["enqueue"],
        "GET /api/oci/conversions/export": ["read"],
        "POST /api/oci/conversions/lookup": ["read"],
        "POST /api/oci/adjustments": ["enqueue"],
        "GET /api/oci/google-ads-export": ["script"],
        "POST /api/oci/ack": ["script"],
        "POST /api/oci/ack-failed": ["script"],
        "POST /api/oci/upload-summary": ["script"],
        "POST /api/oci/v2/verify": ["script"],
        "POST /api/oci/queue-actions": ["operate"],
    }
    assert {name.removeprefix("POST /api/ask/"): scope for name, (scope,) in OPERATIONS.items() if "/ask/" in name} == {
        name: verb.scope for name, verb in VERBS.items()
    }
    assert OPERATIONS["POST /pdf/jobs"] == OPERATIONS["POST /jobs"] == ["enqueue"]
    assert OPERATIONS["GET /pdf/jobs/{job_id}/download"] == OPERATIONS["GET /jobs"] == ["read"]
    assert OPERATIONS["POST /jobs/{id}/approve"] == OPERATIONS["POST /api/outbox/endpoints"] == ["operate"]


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.by_day(20)
def test_a_key_without_the_scope_is_refused_with_what_it_needs(operation: str) -> None:
    (needed,) = OPERATIONS[operation]
    user = User.objects.create_superuser("root")
    others = [scope for scope in DEFAULT_SCOPES if scope != needed]

    refused = ask(key_of(user, *others), operation)
    allowed = ask(key_of(user, needed), operation)

    assert refused.status_code == 403
    assert refused.json()["error"] == {
        "code": "MISSING_SCOPE",
        "message": f"This key does not have the scope {needed}. It has {', '.join(others)}.",
        "needed_scope": needed,
        "key_scopes": others,
    }
    assert allowed.status_code != 403
    assert DeniedRequest.objects.count() == 1


def test_a_leaked_shop_key_cannot_claim_acknowledge_or_open_a_session(site, make_conversion) -> None:
    row = make_conversion(site)
    shop = Api(site.issue_key(name="shop", scopes=[KeyScope.ENQUEUE]))
    ids = {"siteId": site.public_id, "queueIds": [str(row)]}

    sent = shop.post("oci/conversions", {"siteId": site.public_id, "conversions": [SALE]})
    refused = [
        shop.get("oci/google-ads-export", siteId=site.public_id, markAsExported="true"),
        shop.get("oci/google-ads-export", siteId=site.public_id),
        shop.post("oci/ack", ids),
        shop.post("oci/ack-failed", ids),
        shop.post("oci/v2/verify", ids),
    ]

    assert (sent.status_code, sent.json()["created"]) == (200, 1)
    assert {answer.status_code for answer in refused} == {403}
    assert set(Conversion.objects.values_list("status", flat=True)) == {"QUEUED"}


def test_a_session_has_the_scopes_of_its_key_now(site) -> None:
    text = site.issue_key(name="script")
    token = Api(text).post("oci/v2/verify", {"siteId": site.public_id}).json()["session_token"]
    script = Api()
    script.headers = {"authorization": f"Bearer {token}"}
    assert script.claim(site) == []

    ApiKey.objects.update(scopes=["enqueue"])

    assert script.get("oci/google-ads-export", siteId=site.public_id).status_code == 403


def test_a_key_has_all_scopes_unless_some_are_chosen(sql) -> None:
    user = User.objects.create_user("shop")
    key, _ = ApiKey.objects.issue(user, name="test")
    assert key.scopes == DEFAULT_SCOPES

    # As the version before this one inserts them.
    sql(
        "INSERT INTO access_apikey (user_id, name, hint, digest) VALUES (%s, 'old', 'abcd', 'x')",
        user.pk,
    )
    assert ApiKey.objects.get(name="old").scopes == DEFAULT_SCOPES


@pytest.mark.parametrize("scopes", [[], ["enqueue", "everything"]])
def test_the_database_takes_known_scopes_and_at_least_one(scopes: list[str]) -> None:
    user = User.objects.create_user("shop")

    with pytest.raises(IntegrityError), transaction.atomic():
        ApiKey.objects.issue(user, name="test", scopes=scopes)


def test_each_scope_has_a_rate_limit_of_its_own(site, make_conversion, settings) -> None:
    """A burst of a shop's requests, with the same key, gives no 429 to the script."""
    row = make_conversion(site)
    settings.RATE_PER_MINUTE = 3
    api = Api(site.issue_key(name="both"))

    assert is_limited(lambda: api.post("oci/conversions", {"siteId": site.public_id}), after=3)
    (claimed,) = api.claim(site)
    assert claimed["id"] == str(row)
    assert api.post("oci/ack", {"siteId": site.public_id, "queueIds": [str(row)]}).json()["updated"] == 1
