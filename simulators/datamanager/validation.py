"""What Google checks before it takes a request: one bad event refuses all of them."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from simulators.datamanager.refusals import Violation, invalid

MOST_EVENTS = 2000
MOST_DESTINATIONS = 10
CUSTOMER = re.compile(r"[0-9]{10}")
CURRENCY = re.compile(r"[A-Z]{3}")
REQUEST = {"destinations", "events", "consent", "validateOnly", "encoding", "encryptionInfo"}
DESTINATION = {"reference", "loginAccount", "linkedAccount", "operatingAccount", "productDestinationId"}
EVENT = {
    *("destinationReferences", "transactionId", "eventTimestamp", "lastUpdatedTimestamp", "userData", "consent"),
    *("adIdentifiers", "currency", "conversionValue", "conversionCount", "eventSource", "cartData", "customVariables"),
    *("userProperties", "eventDeviceInfo", "experimentalFields"),
}
AD_IDENTIFIERS = {"gclid", "gbraid", "wbraid", "sessionAttributes", "landingPageDeviceInfo"}
USER_IDENTIFIER = {"emailAddress", "phoneNumber", "address"}
MOST_USER_IDENTIFIERS = 10
HEX, SHA256 = re.compile(r"[0-9a-fA-F]*"), re.compile(r"[0-9a-fA-F]{64}")
SOURCES = {"WEB", "APP", "IN_STORE", "PHONE", "OTHER", "MESSAGE"}
CONSENTS = {"CONSENT_GRANTED", "CONSENT_DENIED", "CONSENT_STATUS_UNSPECIFIED"}


def check_request(body: dict[str, Any]) -> None:
    """Refuse a request that is wrong apart from its events."""
    _known(body, REQUEST, "")
    destinations, events = body.get("destinations"), body.get("events")
    if not destinations:
        raise invalid(Violation("destinations", "REQUIRED_FIELD_MISSING"))
    if len(destinations) > MOST_DESTINATIONS:
        raise invalid(Violation("destinations", "TOO_MANY_DESTINATIONS"))
    if not events:
        raise invalid(Violation("events", "REQUIRED_FIELD_MISSING"))
    if len(events) > MOST_EVENTS:
        raise invalid(Violation("events", "TOO_MANY_EVENTS", f"At most {MOST_EVENTS} events."))
    if any(event.get("userData") for event in events) and body.get("encoding") != "HEX":
        raise invalid(Violation("encoding", "REQUIRED_FIELD_MISSING", "Only hexadecimal hashes are understood here."))
    references = [destination.get("reference", "") for destination in destinations]
    if len(set(references)) < len(references):
        raise invalid(Violation("destinations", "DUPLICATE_DESTINATION_REFERENCE"))
    for number, destination in enumerate(destinations):
        _check_destination(destination, f"destinations[{number}]")


def event_violations(body: dict[str, Any]) -> list[Violation]:
    """Return what is wrong with events, by the place of each."""
    references = {destination.get("reference", "") for destination in body["destinations"]}
    return [
        violation
        for number, event in enumerate(body["events"])
        for violation in _check_event(event, f"events.events[{number}]", references)
    ]


def is_in_future(event: dict[str, object]) -> bool:
    moment = _moment(event.get("eventTimestamp"))
    return moment is not None and moment > datetime.now(UTC)


def _check_destination(destination: dict[str, Any], place: str) -> None:
    _known(destination, DESTINATION, place)
    for name in ("operatingAccount", "loginAccount"):
        account = destination.get(name)
        if account is None and name == "loginAccount":
            continue
        if not account or account.get("accountType") != "GOOGLE_ADS":
            raise invalid(Violation(f"{place}.{_snake(name)}", "INVALID_DESTINATION"))
        if not CUSTOMER.fullmatch(str(account.get("accountId", ""))):
            raise invalid(Violation(f"{place}.{_snake(name)}.account_id", "INVALID_FORMAT"))
    number = destination.get("productDestinationId")
    if not isinstance(number, str) or not number.isdigit():
        raise invalid(Violation(f"{place}.product_destination_id", "INVALID_CONVERSION_ACTION_ID"))


def _check_event(event: dict[str, Any], place: str, references: set[str]) -> Iterator[Violation]:
    _known(event, EVENT, place)
    named = event.get("destinationReferences", [])
    if len(named) > 1 or not references.issuperset(named):
        yield Violation(f"{place}.destination_references", "INVALID_DESTINATION")
    if not event.get("transactionId"):
        yield Violation(f"{place}.transaction_id", "REQUIRED_FIELD_MISSING")
    if _moment(event.get("eventTimestamp")) is None:
        reason = "EVENT_TIME_INVALID" if event.get("eventTimestamp") else "REQUIRED_FIELD_MISSING"
        yield Violation(f"{place}.event_timestamp", reason)
    identifiers = event.get("adIdentifiers") or {}
    _known(identifiers, AD_IDENTIFIERS, f"{place}.ad_identifiers")
    if not identifiers and not event.get("userData"):
        yield Violation(place, "NO_IDENTIFIERS_PROVIDED")
    yield from _check_user_data(event.get("userData"), f"{place}.user_data")
    if not CURRENCY.fullmatch(event.get("currency", "TRY")):
        yield Violation(f"{place}.currency", "INVALID_CURRENCY_CODE")
    value = event.get("conversionValue", 0)
    if isinstance(value, bool) or not isinstance(value, int | float):
        yield Violation(f"{place}.conversion_value", "INVALID_NUMBER_FORMAT")
    if event.get("eventSource") not in SOURCES:
        reason = "INVALID_ENUM_VALUE" if event.get("eventSource") else "REQUIRED_FIELD_MISSING"
        yield Violation(f"{place}.event_source", reason)
    for name, status in (event.get("consent") or {}).items():
        if name not in {"adUserData", "adPersonalization"} or status not in CONSENTS:
            yield Violation(f"{place}.consent.{_snake(name)}", "INVALID_ENUM_VALUE")


def _check_user_data(user_data: dict[str, Any] | None, place: str) -> Iterator[Violation]:
    if user_data is None:
        return
    _known(user_data, {"userIdentifiers"}, place)
    identifiers = user_data.get("userIdentifiers") or []
    if not identifiers:
        yield Violation(f"{place}.user_identifiers", "TOO_FEW_ELEMENTS")
    if len(identifiers) > MOST_USER_IDENTIFIERS:
        yield Violation(f"{place}.user_identifiers", "TOO_MANY_USER_IDENTIFIERS")
    for number, identifier in enumerate(identifiers):
        path = f"{place}.user_identifiers[{number}]"
        _known(identifier, USER_IDENTIFIER, path)
        if len(identifier) != 1:
            yield Violation(path, "INVALID_FORMAT", "Exactly one identifier.")
        for name in ("emailAddress", "phoneNumber"):
            if name in identifier and not HEX.fullmatch(str(identifier[name])):
                yield Violation(f"{path}.{_snake(name)}", "INVALID_HEX_ENCODING")
            elif name in identifier and not SHA256.fullmatch(identifier[name]):
                yield Violation(f"{path}.{_snake(name)}", "INVALID_SHA256_FORMAT")


def _known(payload: dict[str, Any], names: set[str], place: str) -> None:
    """Google refuses JSON with a name that it does not know."""
    if unknown := sorted(payload.keys() - names):
        message = f"Invalid JSON payload received. Unknown name \"{unknown[0]}\" at '{place}': Cannot find field."
        raise invalid(Violation(place, "", message))


def _moment(text: Any) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        return None
    return moment if moment.tzinfo else None


def _snake(name: str) -> str:
    return re.sub(r"[A-Z]", lambda letter: f"_{letter[0].lower()}", name)
