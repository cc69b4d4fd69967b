"""A service account's key as Google hands it out: a JSON file, of which only the login is kept."""

import json
import re

from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from django.utils.translation import gettext

# Without `token_uri`: the author of a file must not choose where we post a signed login.
KEPT = ("type", "project_id", "private_key_id", "private_key", "client_email")
REQUIRED = ("client_email", "private_key", "project_id")
LONGEST = 20_000
EMAIL = re.compile(r"[!-?A-~]+@[!-?A-~]+")


def normalize_service_account(text: str) -> str:
    """Return the parts of a service account's JSON that a login needs; ValueError if it is not one."""
    try:
        key = json.loads(text) if len(text) <= LONGEST else None
    except (ValueError, RecursionError):
        key = None
    if not isinstance(key, dict):
        raise ValueError(gettext("Paste the whole JSON file that Google created for the service account's key."))  # noqa: TRY004 - a form shows it
    if key.get("type") != "service_account":
        raise ValueError(gettext("This JSON is not the key of a service account: its type must be service_account."))
    for name in REQUIRED:
        if not isinstance(key.get(name), str) or not key[name].strip():
            raise ValueError(gettext("The service account's JSON has no %(name)s.") % {"name": name})
    if not EMAIL.fullmatch(key["client_email"]):
        raise ValueError(gettext("The client_email of the service account is not an e-mail address."))
    if not _is_rsa_key(key["private_key"]):
        raise ValueError(
            gettext("The private_key of the service account cannot be read: create a new key and paste it.")
        )
    return json.dumps({name: key[name] for name in KEPT if isinstance(key.get(name), str)})


def _is_rsa_key(text: str) -> bool:
    try:
        return isinstance(load_pem_private_key(text.encode(), password=None), RSAPrivateKey)
    except Exception:  # noqa: BLE001 - of several libraries; the text is a person's
        return False
