"""What a conversion must be before it can exist: the same checks for API, CSV and console."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from functools import cached_property
from typing import Any
from uuid import UUID

from kilit.lock.identity import uuid7
from kilit.lock.text import CONTROL_CHARS
from ociqueue.currencies import CURRENCIES, MINOR_UNITS
from ociqueue.models import Conversion, Site

OLDEST = timedelta(days=90)
MOST = Decimal(10) ** 12
REQUIRED = ("conversionName", "conversionTime", "conversionValue", "conversionCurrency")
FIELDS = (*REQUIRED, *Conversion.CLICK_IDS, "sourceKey", "consent")
KNOWN = frozenset(FIELDS)

WHITE_SPACE = re.compile(r"\s")
# Asked before letters are made capitals, which makes more of them than there were: ß becomes SS, and ı an I.
THREE_LETTERS = re.compile(r"[A-Za-z]{3}")
# Python reads more as a number than anybody means: 1_000, and digits of every alphabet.
A_NUMBER = re.compile(r"[-+]?[0-9.]+([eE][-+]?[0-9]+)?|[-+]?(nan|inf|infinity)", re.IGNORECASE | re.ASCII)


class Wrong(ValueError):  # noqa: N818 - it is the answer about one field
    """Why a field is refused, in words for whoever sent it."""


@dataclass
class Entry:
    """One conversion as sent: either a row that can be stored, or what is wrong with it."""

    columns: dict[str, Any] | None = None
    errors: dict[str, str] = field(default_factory=dict)
    defaulted: dict[str, str] = field(default_factory=dict)

    @cached_property
    def conversion(self) -> Conversion | None:
        """The row as an instance, for who needs one: thousands are stored without."""
        return None if self.columns is None else Conversion(**self.columns)


def read_entry(raw: Any, *, site: Site, now: datetime) -> Entry:
    """Check one conversion; every fault is named, not only the first."""
    if not isinstance(raw, Mapping):
        return Entry(errors={"": "Expected an object."})
    entry = Entry()
    for name in raw.keys() - KNOWN:
        entry.errors[str(name)] = f"Unknown field; known are {', '.join(FIELDS)}."
    given = {name: value for name, value in raw.items() if value not in (None, "")}

    def checked(name: str, check: Any, *args: Any) -> Any:
        try:
            return check(given.get(name), *args)
        except Wrong as wrong:
            entry.errors[name] = str(wrong)
            return None

    if "conversionCurrency" not in given and site.default_currency:
        given["conversionCurrency"] = entry.defaulted["conversionCurrency"] = site.default_currency
    columns = {name: checked(name, read_click_id) for name in Conversion.CLICK_IDS}
    if not entry.errors.keys() & columns.keys() and sum(map(bool, columns.values())) != 1:
        entry.errors["gclid"] = "Exactly one of gclid, wbraid and gbraid is needed."
    columns |= {
        "action": checked("conversionName", read_text, 100),
        "conversion_time": checked("conversionTime", read_time, now),
        "currency": checked("conversionCurrency", read_currency),
        "source_key": checked("sourceKey", read_optional_text, 200),
        "consent": checked("consent", read_consent),
    }
    columns["value"] = checked("conversionValue", read_value, columns["currency"] or "")
    if not entry.errors:
        pk = uuid7()
        named = stable_id(site.pk, columns["action"], columns["source_key"] or str(pk))
        entry.columns = {"id": pk, "site_id": site.pk, "order_id": named, **columns}
    return entry


def order_id(conversion: Conversion) -> str:
    """Return the order id of a row made by hand."""
    return stable_id(conversion.site_id, conversion.action, conversion.source_key or str(conversion.pk))


def stable_id(site: UUID, action: str, source: str) -> str:
    """Return the id by which Google counts once, from the source key or else the row's id.

    It never depends on value or time.
    """
    text = "\n".join((str(site), action, source))
    return "oci_" + hashlib.sha256(text.encode()).hexdigest()[:40]


def read_text(value: Any, longest: int) -> str:
    """Return trimmed text of a bounded length."""
    if value is None:
        raise Wrong("This field is required.")
    if not isinstance(value, str):
        raise Wrong("Expected a string.")
    text = value.strip()
    if not text:
        raise Wrong("This field is required.")
    if len(text) > longest:
        raise Wrong(f"At most {longest} characters.")
    if CONTROL_CHARS.search(text):
        raise Wrong("Control characters and broken Unicode are not allowed.")
    return text


def read_optional_text(value: Any, longest: int) -> str | None:
    return None if value is None else read_text(value, longest)


def read_click_id(value: Any) -> str:
    """Return a click id as it came, but for white space around it."""
    if value is None:
        return ""
    text = read_text(value, 512)
    if text.lower() in {"null", "undefined", "none", "nan"}:
        raise Wrong(f"{text!r} is a missing value written as text.")
    if WHITE_SPACE.search(text):
        raise Wrong("A click id has no white space in it.")
    return text


def read_time(value: Any, now: datetime) -> datetime:
    """Return an aware time that is neither in the future nor too old for Google."""
    try:
        time = datetime.fromisoformat(read_text(value, 40))
    except ValueError as error:
        if isinstance(error, Wrong):
            raise
        raise Wrong("Expected ISO 8601 with an offset, as in 2026-11-15T13:45:00+03:00.") from None
    if time.tzinfo is None:
        raise Wrong("The offset is missing: 2026-11-15T13:45:00+03:00 has one.")
    try:
        if time > now:
            raise Wrong("The time is in the future.")
        if time < now - OLDEST:
            raise Wrong(f"The time is more than {OLDEST.days} days ago.")
        # In UTC: Python reads offsets that PostgreSQL refuses, and one such row would cost its neighbours.
        return time.astimezone(UTC)
    except OverflowError:
        raise Wrong("The time is out of range.") from None


def read_currency(value: Any) -> str:
    """Return a currency code in capital letters."""
    text = read_text(value, 3)
    if not THREE_LETTERS.fullmatch(text) or text.upper() not in CURRENCIES:
        raise Wrong(f"{text!r} is not a currency of ISO 4217, as TRY is.")
    return text.upper()


def read_value(value: Any, currency: str) -> Decimal:
    """Return an amount that the currency can hold."""
    if value is None:
        raise Wrong("This field is required.")
    if isinstance(value, bool) or not isinstance(value, int | float | str | Decimal):
        raise Wrong("Expected a number.")
    text = str(value).strip()
    if not A_NUMBER.fullmatch(text):
        raise Wrong("Expected a number.")
    try:
        amount = Decimal(text)
    except InvalidOperation:
        raise Wrong("Expected a number.") from None
    if not amount.is_finite() or not 0 <= amount < MOST:
        raise Wrong("Expected a finite number from 0 to below 1,000,000,000,000.")
    digits = MINOR_UNITS.get(currency, 2)
    exact = amount.quantize(Decimal(1).scaleb(-digits)) if amount.as_tuple().exponent else amount
    if exact != amount:
        raise Wrong(f"{currency or 'This currency'} has {digits} digits after the point.")
    return exact


def read_consent(value: Any) -> str:
    """Return what the visitor agreed to; unspecified when nothing was said."""
    if value is None:
        return Conversion.Consent.UNSPECIFIED
    if value not in Conversion.Consent.values:
        raise Wrong(f"Expected one of {', '.join(Conversion.Consent.values)}.")
    return str(value)
