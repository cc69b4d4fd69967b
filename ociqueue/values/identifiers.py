"""E-mail addresses and phone numbers: normalised as Google does it, and hashed.

Only the hash leaves this module, and no error contains what was given. Google compares hashes, so an address that is
normalised in another way is never found: what cannot be normalised for certain is refused.
"""

import hashlib
import re
from typing import NamedTuple

from django.utils.translation import gettext as _

from kilit.masking import HIDDEN

GMAIL = {"gmail.com", "googlemail.com"}
SEPARATORS = re.compile(r"[\s().\-/]")
PHONE = re.compile(r"\+[1-9][0-9]{6,14}")
HASH = re.compile(r"[0-9a-f]{64}")
QUOTED_HASH = re.compile(r"\b[0-9A-Fa-f]{64}\b")
OF_NOTHING = hashlib.sha256().hexdigest()


class HashedEmail(NamedTuple):
    """The hash that the Data Manager API expects, and the Google Ads API's hash where its rule gives another."""

    data_manager: str
    ads: str = ""


def hash_email(text: str) -> HashedEmail:
    """Return the hashes of an address; a ValueError says what is wrong with it, without repeating it."""
    user, at, domain = _lower_ascii(_shown(text)).partition("@")
    if not (user and at and domain) or "@" in domain or len(text.split()) > 1 or not text.strip().isprintable():
        raise ValueError(_("Expected one e-mail address, such as name@company.com."))
    # Lower case means something else in Python, in Java and at Google.
    if not user.isascii():
        raise ValueError(_("The part before the @ may have ASCII characters only."))
    if domain != domain.lower():
        raise ValueError(_("Write the part after the @ in lower case."))
    if domain not in GMAIL:
        return HashedEmail(_sha256(f"{user}@{domain}"))
    # Dots mean nothing at Gmail. The Google Ads API's samples keep what follows a +, Data Manager's library drops it.
    ads = user.replace(".", "")
    name = ads.partition("+")[0]
    if not name:
        raise ValueError(_("The part before the @ is not a name at Gmail."))
    return HashedEmail(_sha256(f"{name}@{domain}"), "" if name == ads else _sha256(f"{ads}@{domain}"))


def hash_phone(text: str) -> str:
    """Return the hash of a number in E.164; a ValueError says what is wrong with it, without repeating it."""
    number = SEPARATORS.sub("", _shown(text))
    # In +90 (0)532 the zero is not dialled from abroad.
    if not PHONE.fullmatch(number) or "(0)" in text:
        raise ValueError(_("Expected + and the country code, then 7 to 15 digits in all, as in +905550000000."))
    return _sha256(number)


def read_hash(text: str) -> str:
    """Return a hash that the caller made; a ValueError says what is wrong with it, without repeating it."""
    digest = _lower_ascii(_shown(text))
    if not HASH.fullmatch(digest):
        raise ValueError(_("Expected a SHA-256 hash: 64 hexadecimal digits."))
    if digest == OF_NOTHING:
        raise ValueError(_("This is the hash of an empty text."))
    return digest


def hide_hashes(text: str) -> str:
    return QUOTED_HASH.sub(HIDDEN, text)


def _shown(text: str) -> str:
    if text.strip() == HIDDEN:
        raise ValueError(_("It was hidden in the file of rejected lines. Enter it again."))
    return text.strip()


def _lower_ascii(text: str) -> str:
    # `lower()` turns İ into two characters, and the Kelvin sign into k.
    return "".join(character.lower() if character.isascii() else character for character in text)


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
