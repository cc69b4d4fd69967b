"""Secrets at rest: sealed with the first key, opened with any, so that keys can be rotated."""

import base64
import hashlib

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.utils.translation import gettext


class Unreadable(Exception):  # noqa: N818 - the answer to a question, not a bug
    """None of the keys at hand opens what was sealed."""


def seal(text: str) -> str:
    return _keys().encrypt(text.encode()).decode()


def unseal(sealed: str) -> str:
    try:
        return _keys().decrypt(sealed.encode()).decode()
    except InvalidToken:
        raise Unreadable(
            gettext("None of KILIT_CREDENTIAL_KEYS opens the stored credentials; enter them anew.")
        ) from None


def reseal(sealed: str) -> str:
    """Return the same secret under the first key."""
    return seal(unseal(sealed))


def _keys() -> MultiFernet:
    # Without keys of its own an installation uses those that sign its sessions: still sealed, but rotated with them.
    words = settings.CREDENTIAL_KEYS or [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    return MultiFernet([Fernet(_key_of(word)) for word in words])


def _key_of(word: str) -> bytes:
    digest = hashlib.sha256(b"kilit credentials\0" + word.encode()).digest()
    return base64.urlsafe_b64encode(digest)
