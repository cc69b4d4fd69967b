"""Passkeys (WebAuthn) as a second factor; the browser signs a challenge that is in the session, for this host only."""

import struct

from allauth.mfa.models import Authenticator
from allauth.mfa.webauthn.internal import auth
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpRequest
from fido2.utils import websafe_encode

from kilit.access.second_factor import add_recovery_codes, count_failure, count_try, forget_wrong_codes, remember

PASSKEY = Authenticator.Type.WEBAUTHN
MOST = 20  # of one user
# What the parsers of fido2 raise for a text that no browser has sent.
MALFORMED = (ValidationError, ValueError, TypeError, LookupError, AttributeError, struct.error)


def has_passkeys(user: User) -> bool:
    return bool(Authenticator.objects.filter(user=user, type=PASSKEY).exists())


def challenge(user: User) -> dict[str, object]:
    options: dict[str, object] = auth.begin_authentication(user)
    return options


def check_passkey(request: HttpRequest, user: User, credential: object) -> Authenticator | None:
    """Return the passkey that has signed the challenge; what is wrong counts like a wrong code."""
    if not count_try(request, user):
        return None
    try:
        passkey = auth.complete_authentication(user, credential)
    except MALFORMED:
        count_failure(request, user)
        return None
    forget_wrong_codes(user.get_username())
    return passkey


def new_challenge(user: User) -> dict[str, object]:
    options: dict[str, object] = auth.begin_registration(user, passwordless=False)
    return options


@transaction.atomic
def add_passkey(request: HttpRequest, user: User, name: str, credential: object) -> bool:
    User.objects.select_for_update().get(pk=user.pk)
    if Authenticator.objects.filter(user=user, type=PASSKEY).count() >= MOST:
        return False
    try:
        auth.complete_registration(credential)
        stored = _stored(credential)
    except MALFORMED:
        return False
    remember(request, user, auth.WebAuthn.add(user, name, stored).instance, f"Added the passkey {name}")
    add_recovery_codes(user)
    return True


def _stored(credential: object) -> dict[str, object]:
    """Return what has been verified of a credential, and nothing else that came with it."""
    parsed = auth.parse_registration_response(credential)
    identity = websafe_encode(parsed.raw_id)
    response = {
        "clientDataJSON": websafe_encode(bytes(parsed.response.client_data)),
        "attestationObject": websafe_encode(bytes(parsed.response.attestation_object)),
    }
    return {"id": identity, "rawId": identity, "type": "public-key", "response": response}
