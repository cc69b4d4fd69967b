"""Secrets at rest: the first key encrypts and any key decrypts, so that keys can be rotated."""

import base64
import hashlib

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.utils.translation import gettext


class DecryptionError(Exception):
    """None of the configured keys decrypts a stored secret."""


def encrypt(text: str) -> str:
    return _keys().encrypt(text.encode()).decode()


def decrypt(encrypted: str) -> str:
    try:
        return _keys().decrypt(encrypted.encode()).decode()
    except InvalidToken:
        message = gettext("None of KILIT_CREDENTIAL_KEYS decrypts the stored credentials; enter them again.")
        raise DecryptionError(message) from None


def _keys() -> MultiFernet:
    # Without keys of its own an installation uses those that sign its sessions: encrypted too, but rotated with them.
    secrets = settings.CREDENTIAL_KEYS or [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    digests = (hashlib.sha256(b"kilit credentials\0" + secret.encode()).digest() for secret in secrets)
    return MultiFernet([Fernet(base64.urlsafe_b64encode(digest)) for digest in digests])
