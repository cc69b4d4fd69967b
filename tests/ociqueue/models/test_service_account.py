"""A service account's key: what people paste, and what is kept of it."""

import json
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from ociqueue.models.credentials import GoogleAdsAccount, normalize_service_account
from tests.support.service_accounts import service_account
from tests.support.uploads import CUSTOMER, account


def test_only_what_a_login_needs_is_kept() -> None:
    """A pasted `token_uri` would choose where we post a signed login."""
    kept = json.loads(normalize_service_account(service_account(token_uri="https://evil.example/token")))

    assert set(kept) == {"type", "project_id", "private_key_id", "private_key", "client_email"}
    assert "evil" not in str(kept)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ("", "Paste the whole JSON"),
        ("[]", "Paste the whole JSON"),
        ("[" * 15_000, "Paste the whole JSON"),
        ('"' + "x" * 30_000 + '"', "Paste the whole JSON"),
        ('{"type": "authorized_user"}', "type must be service_account"),
        ({"client_email": ""}, "no client_email"),
        ({"project_id": 7}, "no project_id"),
        ({"private_key": None}, "no private_key"),
        ({"client_email": "nobody"}, "not an e-mail address"),
        ({"private_key": "-----BEGIN PRIVATE KEY-----\nx\n-----END PRIVATE KEY-----"}, "cannot be read"),
    ],
)
def test_anything_else_is_refused_with_a_sentence(given: str | dict[str, Any], why: str) -> None:
    text = given if isinstance(given, str) else service_account(**given)  # not at import: a key takes long to make

    with pytest.raises(ValueError, match=why):
        normalize_service_account(text)


def test_a_key_of_another_kind_is_refused() -> None:
    key = ec.generate_private_key(ec.SECP256R1()).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    with pytest.raises(ValueError, match="cannot be read"):
        normalize_service_account(service_account(private_key=key.decode()))


def test_an_account_has_one_of_two_logins() -> None:
    robot = GoogleAdsAccount(
        customer_id=CUSTOMER,
        service_account=normalize_service_account(service_account()),
        conversion_action=f"customers/{CUSTOMER}/conversionActions/7",
    )

    assert robot.project == "project:a-project"
    assert robot.service_account_email == "kilit@a-project.iam.gserviceaccount.com"
    assert account().project == "client:client"
    assert "PRIVATE KEY" not in repr(robot)
    assert "gserviceaccount" not in repr(robot)
