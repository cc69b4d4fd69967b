"""Conversions as they are sent: in API requests, CSV lines and corrections."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Annotated, Any, Literal, TypeVar

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from pydantic import (
    AfterValidator,
    ConfigDict,
    Field,
    PlainValidator,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from typing_extensions import TypedDict

from kilit.api.input_model import FieldError, InputModel, UnknownFields, field_errors, invalid, line
from kilit.csv.times import SLASHED
from kilit.masking import IDENTIFIERS
from ociqueue.models import Conversion, Site
from ociqueue.models.limits import LONGEST_AGE
from ociqueue.states import UPLOADED_HERE
from ociqueue.values import identifiers
from ociqueue.values.currencies import CURRENCIES, MINOR_UNITS

# The clocks of shops are a little ahead: such a time is taken as now.
AHEAD = timedelta(minutes=5)
LONGEST_TIME = 40
MOST = Decimal(10) ** 12
# Decimal() accepts too much: 1_000, and digits of every alphabet.
NUMBER = re.compile(r"[-+]?[0-9.]+([eE][-+]?[0-9]+)?|[-+]?(nan|inf|infinity)", re.IGNORECASE | re.ASCII)
MISSING_VALUES = {"null", "undefined", "none", "nan"}
# What nothing has filled in: {gclid}, %7Bgclid%7D, [gclid], <gclid>, %gclid%, or the name itself.
PLACEHOLDER = re.compile(r"[{}\[\]<>]|%7b|^%.*%$|^(gclid|wbraid|gbraid)$", re.IGNORECASE | re.ASCII)
# Base64 for URLs, with its padding as it is or escaped; and the two other signs that stand in a URL as they are.
CLICK_ID = re.compile(r"[A-Za-z0-9_.~=%-]{2,}", re.ASCII)
# Sums of floating-point numbers end in something like 0.30000000000000004.
NOISE = Decimal("1e-6")
LONGEST_IDENTIFIER = 320
ONE_CLICK_ID = gettext_noop("Exactly one of gclid, wbraid and gbraid is required.")
NOT_ACCEPTED = gettext_noop(
    "This site does not accept e-mail addresses and phone numbers. Turn on “Accept hashed e-mail and phone” in the "
    "site's settings in the console."
)
EXPECTED_TIME = gettext_noop("Expected ISO 8601 with an offset, such as 2026-11-15T13:45:00+03:00.")
T = TypeVar("T")
Columns = dict[str, Any]
NO_HASHES: Mapping[str, str] = dict.fromkeys(Conversion.HASHES, "")


class ConversionContext(TypedDict):
    now: datetime
    site: Site
    has_hash: bool  # the stored row that is corrected


Info = ValidationInfo[ConversionContext]


def read_click_id(text: str, info: Info) -> str:
    if text.lower() in MISSING_VALUES:
        raise invalid(_("“%(text)s” looks like a missing value.") % {"text": text})
    if PLACEHOLDER.search(text):
        raise invalid(_("“%(text)s” looks like a placeholder that was not filled in.") % {"text": text})
    if len(text.split()) > 1:
        raise invalid(_("A click id contains no white space."))
    read_stored_text(text, info)
    if not CLICK_ID.fullmatch(text):
        raise invalid(_("A click id has at least two characters, and only A–Z, a–z, 0–9, _, -, ., ~, = and %."))
    return text


def read_stored_text(text: str, info: Info) -> str:
    """Refuse what may be an e-mail address in the wrong field, at sites that send them."""
    if "@" in text and info.context["site"].accepts_identifiers:
        raise invalid(
            _("It contains an @. E-mail addresses belong in the field email, where only their hash is stored.")
        )
    return text


def identifier(read: Callable[[str], T]) -> PlainValidator:
    """Return a validator that replaces an identifier by its hash; no error repeats what was given."""

    def validate(value: object, info: Info) -> T:
        if not info.context["site"].accepts_identifiers:
            raise invalid(_(NOT_ACCEPTED))
        if not isinstance(value, str):
            raise invalid(_("Expected a string."))
        if len(value) > LONGEST_IDENTIFIER:
            raise invalid(_("At most {max_length} characters.").format(max_length=LONGEST_IDENTIFIER))
        try:
            return read(value)
        except ValueError as error:
            raise invalid(str(error)) from None

    return PlainValidator(validate, json_schema_input_type=str)


def fault_of_click_ids(number: int, identified: Mapping[str, Any], context: ConversionContext) -> str:
    """Return what is wrong with the number of click ids; `identified` has the identifiers that are valid."""
    site = context["site"]
    is_identified = context["has_hash"] or any(map(identified.get, IDENTIFIERS))
    if number or not (is_identified or site.accepts_identifiers):
        return _(ONE_CLICK_ID)
    if site.sync_method not in UPLOADED_HERE:
        alone = _(
            "A click id is required: the Google Ads Script cannot send an e-mail address or a phone number alone."
        )
        return alone if is_identified else _(ONE_CLICK_ID)
    if is_identified or not identified.keys() >= set(IDENTIFIERS):  # an invalid one is reported itself
        return ""
    return _("One of gclid, wbraid, gbraid, email, phone, hashedEmail and hashedPhone is required.")


def read_time(value: object, info: Info) -> datetime:
    """Return a time in UTC that is neither in the future nor too old for Google."""
    if not isinstance(value, str):
        raise invalid(_("Expected a string."))
    time = None
    if len(value := value.strip()) <= LONGEST_TIME and value.isprintable():  # any character may stand for the T
        with suppress(ValueError):
            time = datetime.fromisoformat(value)
    if time is None or time.tzinfo is None:
        raise invalid(" ".join([*_faults_of_time(value, time), _(EXPECTED_TIME)]))
    now: datetime = info.context["now"]
    try:
        if time > now + AHEAD:
            raise invalid(_("The time is in the future; at most 5 minutes ahead are accepted."))
        time = min(time, now)
        if time < now - LONGEST_AGE:
            raise invalid(_("The time is more than %(days)s days ago.") % {"days": LONGEST_AGE.days})
        # In UTC: PostgreSQL rejects some offsets that Python accepts, and one such row would fail the whole INSERT.
        return time.astimezone(UTC)
    except OverflowError:
        raise invalid(_("The time is out of range.")) from None


def _faults_of_time(text: str, time: datetime | None) -> Iterator[str]:
    if time:
        yield _("The offset is missing.")
    elif SLASHED.fullmatch(text):
        yield _("03/04/2026 could be in March or in April.")


def read_currency(text: str) -> str:
    code = text.upper()
    # `upper()` turns ß into SS and ı into I.
    if code not in CURRENCIES or not text.isascii():
        raise invalid(_("“%(text)s” is not an ISO 4217 currency code, such as TRY.") % {"text": text})
    return code


def read_number(value: Any) -> Decimal:
    if isinstance(value, str):
        value = value.strip()
        value = value if NUMBER.fullmatch(value) else ""
    elif type(value) not in (Decimal, int):  # True is an int, too
        raise invalid(_("Expected a number."))
    try:
        amount = Decimal(value)
    except InvalidOperation:
        raise invalid(_("Expected a number.")) from None
    if not amount.is_finite() or not 0 <= amount < MOST:
        raise invalid(_("Expected a finite number from 0 to below 1,000,000,000,000."))
    return amount


def too_many_digits(amount: Decimal, currency: str) -> str:
    """Return what is wrong with an amount that the currency cannot express, or ""."""
    digits = MINOR_UNITS.get(currency, 2)
    if abs(round(amount, digits) - amount) <= NOISE:
        return ""
    values = {"currency": currency or _("This currency"), "digits": digits}
    return _("%(currency)s has %(digits)s digits after the decimal point.") % values


def read_value(value: object, info: Info) -> Decimal:
    amount, currency = read_number(value), info.data.get("conversionCurrency", "")
    if fault := too_many_digits(amount, currency):
        raise invalid(fault)
    return round(amount, MINOR_UNITS.get(currency, 2))


ClickId = Annotated[
    str,
    line(512),
    AfterValidator(read_click_id),
    Field(description="At most one click id; exactly one, unless an e-mail address or a phone number is sent."),
]
ReadyHash = Annotated[str, identifier(identifiers.read_hash), Field(description="SHA-256, 64 hexadecimal digits.")]


ConsentGiven = Literal["GRANTED", "DENIED"]


class NewConversion(InputModel):
    """A conversion as it is sent; null and the empty string are the same as leaving a field out."""

    # A site may have a default.
    model_config = ConfigDict(json_schema_extra=lambda schema: schema["required"].remove("conversionCurrency"))

    conversionName: Annotated[str, line(100), Field(description="The name of the conversion action.")]
    conversionTime: Annotated[
        datetime,
        PlainValidator(read_time, json_schema_input_type=str),
        Field(description="ISO 8601 with an offset; not in the future, not older than 90 days."),
    ]
    # Before the value, whose digits depend on it.
    conversionCurrency: Annotated[
        str,
        line(3),
        AfterValidator(read_currency),
        Field(description="ISO 4217; defaults to the site's currency, which the result then shows in `defaulted`."),
    ]
    conversionValue: Annotated[
        Decimal,
        PlainValidator(read_value, json_schema_input_type=float | str),
        Field(description="An amount with at most the digits that the currency has."),
    ]
    wbraid: ClickId | None = None
    gbraid: ClickId | None = None
    email: Annotated[identifiers.HashedEmail, identifier(identifiers.hash_email)] | None = Field(
        None, description="Only its hash is stored. Only for sites that accept hashed e-mail and phone."
    )
    phone: Annotated[str, identifier(identifiers.hash_phone)] | None = Field(
        None, description="With + and country code. Only its hash is stored, as for email.", examples=["+905550000000"]
    )
    hashedEmail: ReadyHash | None = Field(None, description="Instead of email: its SHA-256, 64 hexadecimal digits.")
    hashedPhone: ReadyHash | None = Field(None, description="Instead of phone: its SHA-256, 64 hexadecimal digits.")
    gclid: ClickId | None = Field(None, validate_default=True)  # last, so that it is checked beside the others
    sourceKey: Annotated[str, line(200), AfterValidator(read_stored_text)] | None = Field(
        None, description="Your own id: the same key with the same conversion name is the same conversion."
    )
    consentAdUserData: ConsentGiven | None = Field(None, description="Whether Google may use the data for ads.")
    consentAdPersonalization: ConsentGiven | None = Field(None, description="Whether Google may personalize ads.")
    eventSource: Literal["WEB", "APP", "IN_STORE", "PHONE", "MESSAGE", "OTHER"] | None = Field(
        None, description="Where it happened; WEB if left out. Only the Data Manager API receives it."
    )
    # After the two consents, so that it is checked beside them.
    consent: Literal["UNSPECIFIED", "GRANTED", "DENIED"] = Field(
        "UNSPECIFIED", description="The old name: it sets both consents.", json_schema_extra={"deprecated": True}
    )

    @model_validator(mode="before")
    @classmethod
    def _drop_empty(cls, raw: object, info: Info) -> object:
        if not isinstance(raw, dict):
            return raw
        fields = {name: value for name, value in raw.items() if value or value not in EMPTY or name not in FIELDS}
        if phone := fields.pop("hashedPhoneNumber", None):  # as the export names it for older scripts
            fields.setdefault("hashedPhone", phone)
        if "conversionCurrency" not in fields and (currency := info.context["site"].default_currency):
            fields["conversionCurrency"] = currency
        return fields

    @field_validator("gclid")
    @classmethod
    def _only_one(cls, gclid: str | None, info: Info) -> str | None:
        others = info.data  # without those that are invalid
        if {"wbraid", "gbraid"} <= others.keys():
            number = sum(map(bool, (gclid, others["wbraid"], others["gbraid"])))
            if number != 1 and (fault := fault_of_click_ids(number, others, info.context)):
                raise invalid(fault)
        return gclid

    @field_validator("hashedEmail", "hashedPhone")
    @classmethod
    def _only_one_of_both(cls, ready: str | None, info: Info) -> str | None:
        clear = "email" if info.field_name == "hashedEmail" else "phone"
        if ready and info.data.get(clear):
            raise invalid(_("Send %(one)s or %(other)s, not both.") % {"one": clear, "other": info.field_name})
        return ready

    @field_validator("consent")  # only called for conversions that have it
    @classmethod
    def _says_the_same(cls, consent: str, info: Info) -> str:
        for name in CONSENTS:
            if consent != "UNSPECIFIED" and info.data.get(name, consent) not in (None, consent):
                values = {"consent": consent, "name": name, "other": info.data[name]}
                raise invalid(_("consent is %(consent)s, but %(name)s is %(other)s. Leave consent out.") % values)
        return consent


CONSENTS = ("consentAdUserData", "consentAdPersonalization")
FIELDS = tuple(NewConversion.model_fields)
REQUIRED = tuple(name for name, field in NewConversion.model_fields.items() if field.is_required())
TEMPLATE_FIELDS = tuple(name for name in FIELDS if name != "consent")  # what a new file uses
EMPTY = (None, "")


def fields_of(site: Site, fields: Sequence[str] = FIELDS) -> Sequence[str]:
    """Return the fields that a site accepts."""
    return fields if site.accepts_identifiers else without_identifiers(fields)


def without_identifiers(fields: Sequence[str]) -> Sequence[str]:
    return tuple(name for name in fields if name not in IDENTIFIERS)


def format_consent(stored: str) -> str:
    """Return a stored consent as it is sent: nothing if none was given."""
    return "" if stored == "UNSPECIFIED" else stored


def read_columns(
    site: Site,
    raw: object,
    *,
    now: datetime,
    hashes: Mapping[str, str] = NO_HASHES,
    unknown: UnknownFields | None = None,
) -> Columns | list[FieldError]:
    """Return the columns of a valid conversion, or everything that is wrong with it.

    A correction keeps the `hashes` of its row, unless it has others.
    """
    context: ConversionContext = {"now": now, "site": site, "has_hash": any(hashes.values())}
    try:
        conversion = NewConversion.model_validate(raw, context=context)
    except ValidationError as error:
        return field_errors(error, NewConversion, unknown=unknown)
    return {
        "site_id": site.pk,
        "action": conversion.conversionName,
        "gclid": conversion.gclid or "",
        "wbraid": conversion.wbraid or "",
        "gbraid": conversion.gbraid or "",
        "conversion_time": conversion.conversionTime,
        "value": conversion.conversionValue,
        "currency": conversion.conversionCurrency,
        "consent_ad_user_data": conversion.consentAdUserData or conversion.consent,
        "consent_ad_personalization": conversion.consentAdPersonalization or conversion.consent,
        "event_source": conversion.eventSource,  # None if it was not said
        "source_key": conversion.sourceKey,
        **hashes,
        **_hashes(conversion),
    }


def _hashes(conversion: NewConversion) -> dict[str, str]:
    hashes: dict[str, str] = {}
    if email := conversion.email or (conversion.hashedEmail and identifiers.HashedEmail(conversion.hashedEmail)):
        hashes |= {"hashed_email": email.data_manager, "hashed_email_ads": email.ads}
    if phone := conversion.phone or conversion.hashedPhone:
        hashes["hashed_phone"] = phone
    return hashes
