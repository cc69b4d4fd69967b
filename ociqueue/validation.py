"""Validates conversions: the same checks for the API, CSV files and corrections."""

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

WHITE_SPACE = re.compile(r"\s")
# Checked before `upper()`, which turns ß into SS and ı into I.
THREE_LETTERS = re.compile(r"[A-Za-z]{3}")
# Decimal() accepts too much: 1_000, and digits of every alphabet.
NUMBER = re.compile(r"[-+]?[0-9.]+([eE][-+]?[0-9]+)?|[-+]?(nan|inf|infinity)", re.IGNORECASE | re.ASCII)


class InvalidValue(ValueError):  # noqa: N818 - a validation result, not an error of ours
    """Why a field is rejected; the message goes to the caller."""


@dataclass
class ConversionInput:
    """One conversion as sent: either columns that can be stored, or errors by field."""

    columns: dict[str, Any] | None = None
    errors: dict[str, str] = field(default_factory=dict)
    defaulted: dict[str, str] = field(default_factory=dict)

    @cached_property
    def conversion(self) -> Conversion | None:
        return None if self.columns is None else Conversion(**self.columns)


def validate_conversion(raw: Any, *, site: Site, now: datetime) -> ConversionInput:
    """Check one conversion; every invalid field is reported, not only the first."""
    if not isinstance(raw, Mapping):
        return ConversionInput(errors={"": "Expected an object."})
    result = ConversionInput()
    for name in raw.keys() - set(FIELDS):
        result.errors[str(name)] = f"Unknown field; expected {', '.join(FIELDS)}."
    given = {name: value for name, value in raw.items() if value not in (None, "")}

    def checked(name: str, check: Any, *args: Any) -> Any:
        try:
            return check(given.get(name), *args)
        except InvalidValue as error:
            result.errors[name] = str(error)
            return None

    if "conversionCurrency" not in given and site.default_currency:
        given["conversionCurrency"] = result.defaulted["conversionCurrency"] = site.default_currency
    columns = {name: checked(name, read_click_id) for name in Conversion.CLICK_IDS}
    if not result.errors.keys() & columns.keys() and sum(map(bool, columns.values())) != 1:
        result.errors["gclid"] = "Exactly one of gclid, wbraid and gbraid is required."
    columns |= {
        "action": checked("conversionName", read_text, 100),
        "conversion_time": checked("conversionTime", read_time, now),
        "currency": checked("conversionCurrency", read_currency),
        "source_key": checked("sourceKey", read_optional_text, 200),
        "consent": checked("consent", read_consent),
    }
    columns["value"] = checked("conversionValue", read_value, columns["currency"] or "")
    if not result.errors:
        pk = uuid7()
        order_id = make_order_id(site.pk, columns["action"], columns["source_key"] or str(pk))
        result.columns = {"id": pk, "site_id": site.pk, "order_id": order_id, **columns}
    return result


def make_order_id(site: UUID, action: str, source: str) -> str:
    """Return the id by which Google counts a conversion once; `source` is the source key, or else the row's id."""
    text = "\n".join((str(site), action, source))
    return "oci_" + hashlib.sha256(text.encode()).hexdigest()[:40]


def read_text(value: Any, longest: int) -> str:
    if value is not None and not isinstance(value, str):
        raise InvalidValue("Expected a string.")
    text = (value or "").strip()
    if not text:
        raise InvalidValue("This field is required.")
    if len(text) > longest:
        raise InvalidValue(f"At most {longest} characters.")
    if CONTROL_CHARS.search(text):
        raise InvalidValue("Control characters and broken Unicode are not allowed.")
    return text


def read_optional_text(value: Any, longest: int) -> str | None:
    return None if value is None else read_text(value, longest)


def read_click_id(value: Any) -> str:
    if value is None:
        return ""
    text = read_text(value, 512)
    if text.lower() in {"null", "undefined", "none", "nan"}:
        raise InvalidValue(f"{text!r} looks like a missing value.")
    if WHITE_SPACE.search(text):
        raise InvalidValue("A click id contains no white space.")
    return text


def read_time(value: Any, now: datetime) -> datetime:
    """Return a time in UTC that is neither in the future nor too old for Google."""
    try:
        time = datetime.fromisoformat(read_text(value, 40))
    except ValueError as error:
        if isinstance(error, InvalidValue):
            raise
        raise InvalidValue("Expected ISO 8601 with an offset, such as 2026-11-15T13:45:00+03:00.") from None
    if time.tzinfo is None:
        raise InvalidValue("The offset is missing, as in 2026-11-15T13:45:00+03:00.")
    try:
        if time > now:
            raise InvalidValue("The time is in the future.")
        if time < now - OLDEST:
            raise InvalidValue(f"The time is more than {OLDEST.days} days ago.")
        # In UTC: PostgreSQL rejects some offsets that Python accepts, and one such row would fail the whole INSERT.
        return time.astimezone(UTC)
    except OverflowError:
        raise InvalidValue("The time is out of range.") from None


def read_currency(value: Any) -> str:
    text = read_text(value, 3)
    if not THREE_LETTERS.fullmatch(text) or text.upper() not in CURRENCIES:
        raise InvalidValue(f"{text!r} is not an ISO 4217 currency code, such as TRY.")
    return text.upper()


def read_value(value: Any, currency: str) -> Decimal:
    if value is None:
        raise InvalidValue("This field is required.")
    if isinstance(value, bool) or not isinstance(value, int | float | str | Decimal):
        raise InvalidValue("Expected a number.")
    text = str(value).strip()
    try:
        amount = Decimal(text if NUMBER.fullmatch(text) else "")
    except InvalidOperation:
        raise InvalidValue("Expected a number.") from None
    if not amount.is_finite() or not 0 <= amount < MOST:
        raise InvalidValue("Expected a finite number from 0 to below 1,000,000,000,000.")
    digits = MINOR_UNITS.get(currency, 2)
    exact = amount.quantize(Decimal(1).scaleb(-digits)) if amount.as_tuple().exponent else amount
    if exact != amount:
        raise InvalidValue(f"{currency or 'This currency'} has {digits} digits after the decimal point.")
    return exact


def read_consent(value: Any) -> str:
    if value is None:
        return Conversion.Consent.UNSPECIFIED
    if value not in Conversion.Consent.values:
        raise InvalidValue(f"Expected one of {', '.join(Conversion.Consent.values)}.")
    return str(value)
