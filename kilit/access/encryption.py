"""Secrets at rest: the first key encrypts and any key decrypts, so that keys can be rotated.

Queues declare the columns that they encrypt; `manage.py reencrypt_secrets` encrypts them all with the first key.
"""

import base64
import hashlib
from collections.abc import Callable

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.db import transaction
from django.db.models import Model
from django.utils.translation import gettext

encrypted_columns: dict[type[Model], tuple[str, ...]] = {}
_others: list[Callable[[], int]] = []


class DecryptionError(Exception):
    """None of the configured keys decrypts a stored secret."""


def encrypt(text: str) -> str:
    return encrypt_bytes(text.encode()).decode()


def decrypt(encrypted: str) -> str:
    return decrypt_bytes(encrypted.encode()).decode()


def encrypt_bytes(content: bytes) -> bytes:
    return _keys().encrypt(content)


def decrypt_bytes(encrypted: bytes) -> bytes:
    try:
        return _keys().decrypt(encrypted)
    except InvalidToken:
        message = gettext("None of KILIT_CREDENTIAL_KEYS decrypts the stored credentials; enter them again.")
        raise DecryptionError(message) from None


def register_reencryption(reencrypt: Callable[[], int]) -> None:
    """Register secrets that are not columns of their own; the function returns how many it has encrypted."""
    _others.append(reencrypt)


def reencrypt_all() -> int:
    """Encrypt all stored secrets with the first key; return how many. If one cannot be decrypted, nothing changes."""
    count = 0
    with transaction.atomic():
        for model, columns in encrypted_columns.items():
            rows = model._default_manager.select_for_update().order_by("pk").only("pk", *columns)
            for row in rows.iterator(chunk_size=20):  # parts of files have a megabyte each
                stored = [name for name in columns if getattr(row, name)]
                for name in stored:
                    setattr(row, name, _encrypt_again(getattr(row, name)))
                row.save(update_fields=stored)
                count += len(stored)
        return count + sum(reencrypt() for reencrypt in _others)


def _encrypt_again(stored: str | memoryview) -> str | bytes:
    return encrypt(decrypt(stored)) if isinstance(stored, str) else encrypt_bytes(decrypt_bytes(bytes(stored)))


def _keys() -> MultiFernet:
    # Without keys of its own an installation uses those that sign its sessions: encrypted too, but rotated with them.
    secrets = settings.CREDENTIAL_KEYS or [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    digests = (hashlib.sha256(b"kilit credentials\0" + secret.encode()).digest() for secret in secrets)
    return MultiFernet([Fernet(base64.urlsafe_b64encode(digest)) for digest in digests])
