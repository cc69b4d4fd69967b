"""A passkey in software: makes and signs as a browser with a security key does, for any origin that a test names."""

import secrets
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from fido2.cose import ES256
from fido2.utils import websafe_decode, websafe_encode
from fido2.webauthn import (
    Aaguid,
    AttestationObject,
    AttestedCredentialData,
    AuthenticatorData,
    CollectedClientData,
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
