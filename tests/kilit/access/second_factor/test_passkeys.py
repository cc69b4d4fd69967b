"""Passkeys as a second factor: for this host, this user and this login only."""

import json
import re
import secrets
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.test import Client
from fido2.cose import ES256
from fido2.utils import websafe_decode, websafe_encode
from fido2.webauthn import (
    Aaguid,
    AttestationObject,
    AttestedCredentialData,
    AuthenticatorData,
    CollectedClientData,
)

from tests.support.second_factors import (
    CODE,
    LOGIN,
    PAGES,
    PASSWORD,
    enter_code,
    enter_password,
    is_logged_in,
)

ORIGIN, HOST = "https://testserver", "testserver"
FLAG = AuthenticatorData.FLAG


@dataclass
class SoftPasskey:
    origin: str = ORIGIN
    identity: bytes = field(default_factory=lambda: secrets.token_bytes(16))
    key: ec.EllipticCurvePrivateKey = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))

    def create(self, options: dict[str, Any]) -> dict[str, Any]:
        """Answer a challenge to make a passkey."""
        public = ES256.from_cryptography_key(self.key.public_key())  # type: ignore[no-untyped-call]
        credential = AttestedCredentialData.create(Aaguid(bytes(16)), self.identity, public)
        data = AuthenticatorData.create(_host_hash(), FLAG.UP | FLAG.UV | FLAG.AT, 0, bytes(credential))
        client = self._client(CollectedClientData.TYPE.CREATE, options)
        attestation = AttestationObject.create("none", data, {})
        return self._answer(clientDataJSON=client, attestationObject=bytes(attestation))

    def get(self, options: dict[str, Any]) -> dict[str, Any]:
        """Answer a challenge to sign."""
        data = AuthenticatorData.create(_host_hash(), FLAG.UP | FLAG.UV, 0)
        client = self._client(CollectedClientData.TYPE.GET, options)
        signature = self.key.sign(bytes(data) + sha256(client).digest(), ec.ECDSA(hashes.SHA256()))
        return self._answer(clientDataJSON=client, authenticatorData=bytes(data), signature=signature)

    def _client(self, kind: str, options: dict[str, Any]) -> bytes:
        challenge = websafe_decode(options["publicKey"]["challenge"])
        return bytes(CollectedClientData.create(type=kind, challenge=challenge, origin=self.origin))

    def _answer(self, **response: bytes) -> dict[str, Any]:
        identity = websafe_encode(self.identity)
        encoded = {name: websafe_encode(value) for name, value in response.items()}
        return {"id": identity, "rawId": identity, "type": "public-key", "response": encoded}


def _host_hash() -> bytes:
    return sha256(HOST.encode()).digest()


pytestmark = pytest.mark.django_db

ADD = f"{PAGES}passkey/"


def options_in(client: Client, address: str) -> dict[str, Any]:
    page = client.get(address, secure=True).content.decode()
    found = re.search(r'<script id="passkey-options" type="application/json">(.+?)</script>', page)
    assert found, page
    return json.loads(found[1])


def add(client: Client, passkey: SoftPasskey, name: str = "Laptop") -> Any:
    credential = passkey.create(options_in(client, ADD))
    return client.post(ADD, {"name": name, "credential": json.dumps(credential)}, secure=True)


def with_passkey(username: str = "ayse") -> tuple[User, SoftPasskey]:
    user = User.objects.create_user(username, password=PASSWORD, is_staff=True)
    enter_password(client := Client(), username)
    passkey = SoftPasskey()
    assert add(client, passkey)["Location"] == f"{PAGES}codes/"
    return user, passkey


def sign(client: Client, passkey: SoftPasskey, options: dict[str, Any] | None = None) -> Any:
    credential = passkey.get(options or options_in(client, CODE))
    return client.post(CODE, {"credential": json.dumps(credential)}, secure=True)


def test_a_login_asks_for_the_passkey(client) -> None:
    user, passkey = with_passkey()

    asked = enter_password(client)

    assert asked["Location"] == CODE
    assert not is_logged_in(client)
    assert sign(client, passkey)["Location"] == "/admin/"
    assert is_logged_in(client)
    assert LogEntry.objects.get(user=user).change_message == "Added the passkey Laptop"


def test_a_recovery_code_works_in_place_of_a_passkey(browser, client, ayse) -> None:
    add(browser, SoftPasskey())
    codes = re.findall(r"<li>(\d{4} \d{4})</li>", browser.get(f"{PAGES}codes/").content.decode())
    enter_password(client)

    assert enter_code(client, codes[0]).status_code == 302
    assert Authenticator.objects.filter(user=ayse).count() == 2


def test_a_passkey_that_was_made_for_another_page_is_refused(client) -> None:
    """A forged page gets a signature for its own address only."""
    _user, passkey = with_passkey()
    enter_password(client)
    passkey.origin = "https://testserver.evil.example"

    answer = sign(client, passkey)

    assert "This passkey was not accepted." in answer.content.decode()
    assert not is_logged_in(client)


def test_a_passkey_of_another_user_is_refused(client) -> None:
    with_passkey()
    _other, passkey = with_passkey("mehmet")
    enter_password(client)

    assert sign(client, passkey).status_code == 200
    assert not is_logged_in(client)


def test_a_signature_of_another_key_is_refused(client) -> None:
    _user, passkey = with_passkey()
    enter_password(client)

    assert sign(client, SoftPasskey(identity=passkey.identity)).status_code == 200
    assert not is_logged_in(client)


def test_a_signature_works_for_its_own_login_only(client) -> None:
    _user, passkey = with_passkey()
    enter_password(client)
    options = options_in(client, CODE)
    sign(client, passkey, options)
    assert is_logged_in(client)
    enter_password(other := Client())
    options_in(other, CODE)

    assert sign(other, passkey, options).status_code == 200
    assert not is_logged_in(other)


def test_wrong_signatures_count_like_wrong_codes(client, settings) -> None:
    _user, passkey = with_passkey()
    enter_password(client)
    wrong = SoftPasskey(identity=passkey.identity)

    answers = [sign(client, wrong).status_code for _ in range(settings.LOGIN_TRIES)]

    assert answers == [200] * (settings.LOGIN_TRIES - 1) + [429]
    assert sign(client, passkey).status_code == 429  # with a new challenge
    assert not is_logged_in(client)


MALFORMED = [
    "",
    "x",
    "{}",
    "[]",
    "null",
    '{"id": 1}',
    '{"id": "a", "rawId": "a", "response": {}}',
    '"\\u0000"',
    "[" * 99,
]


@pytest.mark.parametrize("credential", MALFORMED)
def test_what_no_browser_sends_is_refused_and_no_fault(client, credential, settings) -> None:
    settings.LOGIN_TRIES = 100
    with_passkey()
    enter_password(client)
    client.get(CODE)

    assert client.post(CODE, {"credential": credential}).status_code == 200
    assert not is_logged_in(client)


@pytest.mark.parametrize("credential", MALFORMED)
def test_a_passkey_that_no_browser_has_made_is_not_added(browser, credential) -> None:
    browser.get(ADD)

    assert browser.post(ADD, {"name": "x", "credential": credential}).status_code == 200
    assert not Authenticator.objects.exists()


def test_a_passkey_for_another_page_or_challenge_is_not_added(browser) -> None:
    old = options_in(browser, ADD)
    options_in(browser, ADD)

    answer = browser.post(ADD, {"name": "x", "credential": json.dumps(SoftPasskey().create(old))}, secure=True)

    assert "The passkey could not be added." in answer.content.decode()
    assert add(browser, SoftPasskey(origin="https://evil.example")).status_code == 200
    assert not Authenticator.objects.exists()


def test_nothing_but_the_passkey_itself_is_stored(browser) -> None:
    """PostgreSQL's JSON takes no NUL, and nobody needs what else a browser, or a program, may send."""
    credential = {**SoftPasskey().create(options_in(browser, ADD)), "clientExtensionResults": {"x": "\0"}}

    browser.post(ADD, {"name": "x", "credential": json.dumps(credential)}, secure=True)

    stored = Authenticator.objects.get(type="webauthn").data["credential"]
    assert sorted(stored) == ["id", "rawId", "response", "type"]


def test_a_removed_passkey_opens_nothing(client) -> None:
    _user, passkey = with_passkey()
    enter_password(client)
    sign(client, passkey)
    add(client, SoftPasskey(), "Key")
    first = Authenticator.objects.filter(type="webauthn").earliest("pk")

    client.post(f"{ADD}{first.pk}/remove/")

    assert "Laptop" not in re.sub(r"Laptop was removed", "", client.get(PAGES).content.decode())
    enter_password(other := Client())
    assert sign(other, passkey).status_code == 200
    assert not is_logged_in(other)


def test_nobody_removes_anothers_passkey(client) -> None:
    with_passkey()
    _other, passkey = with_passkey("mehmet")
    enter_password(client, "mehmet")
    sign(client, passkey)
    first = Authenticator.objects.filter(user__username="ayse", type="webauthn").get()

    assert client.post(f"{ADD}{first.pk}/remove/").status_code == 404
    assert Authenticator.objects.filter(pk=first.pk).exists()


def test_pages_may_use_passkeys_only_where_second_factors_are_on(settings) -> None:
    on = Client().get(LOGIN)["Permissions-Policy"]
    settings.SECOND_FACTOR = "off"
    off = Client().get(LOGIN)["Permissions-Policy"]

    for feature in ("publickey-credentials-get", "publickey-credentials-create"):
        assert f"{feature}=(self)" in on
        assert f"{feature}=()" in off
