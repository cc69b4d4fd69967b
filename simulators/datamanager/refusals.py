"""Requests that Google refuses: a google.rpc.Status as JSON, with details as Google sends them."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

DOMAIN = "datamanager.googleapis.com"
GENERAL = "There was a problem with the request."
STATUSES = {
    "INVALID_ARGUMENT": 400,
    "UNAUTHENTICATED": 401,
    "PERMISSION_DENIED": 403,
    "NOT_FOUND": 404,
    "ABORTED": 409,
    "RESOURCE_EXHAUSTED": 429,
    "INTERNAL": 500,
    "UNKNOWN": 500,
    "UNAVAILABLE": 503,
    "DEADLINE_EXCEEDED": 504,
}


@dataclass
class Violation:
    field: str  # such as events.events[3].ad_identifiers.gclid
    reason: str = ""
    description: str = ""

    def json(self) -> dict[str, str]:
        named = {"reason": self.reason} if self.reason else {}
        return {"field": self.field, "description": self.description or f"{self.reason or 'Invalid'}.", **named}


@dataclass
class GoogleRefusal(Exception):
    status: str = "INVALID_ARGUMENT"
    reason: str = ""
    message: str = GENERAL
    violations: Sequence[Violation] = ()
    domain: str = DOMAIN
    metadata: dict[str, str] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def code(self) -> int:
        return STATUSES[self.status]

    def json(self) -> dict[str, Any]:
        request_id = f"t-{uuid.uuid4()}"
        metadata = {**({"requestId": request_id} if self.domain == DOMAIN else {}), **self.metadata}
        info = {"reason": self.reason or self.status, "domain": self.domain, "metadata": metadata}
        details: list[dict[str, Any]] = [_detail("ErrorInfo", **info)]
        if self.violations:
            details.append(_detail("BadRequest", fieldViolations=[one.json() for one in self.violations]))
        if self.domain == DOMAIN:  # Google's front end, which checks the login and the quota, sends none
            details.append(_detail("RequestInfo", requestId=request_id))
        error = {"code": self.code, "message": self.message, "status": self.status, "details": details}
        return {"error": error}


def invalid(*violations: Violation) -> GoogleRefusal:
    """Refuse a request for these fields; without any, Google does not say what is wrong."""
    return GoogleRefusal(reason=violations[0].reason if violations else "", violations=violations)


def unauthenticated() -> GoogleRefusal:
    return GoogleRefusal(
        "UNAUTHENTICATED",
        "ACCESS_TOKEN_EXPIRED",
        "Request had invalid authentication credentials.",
        domain="googleapis.com",
        headers={"WWW-Authenticate": 'Bearer realm="https://accounts.google.com/"'},
    )


def service_disabled() -> GoogleRefusal:
    message = "Data Manager API has not been used in project 123 before or it is disabled."
    metadata = {"service": DOMAIN, "consumer": "projects/123"}
    return GoogleRefusal("PERMISSION_DENIED", "SERVICE_DISABLED", message, domain="googleapis.com", metadata=metadata)


def scope_insufficient() -> GoogleRefusal:
    message = "Request had insufficient authentication scopes."
    metadata = {"service": DOMAIN, "method": "google.ads.datamanager.v1.IngestionService.IngestEvents"}
    reason = "ACCESS_TOKEN_SCOPE_INSUFFICIENT"
    return GoogleRefusal("PERMISSION_DENIED", reason, message, domain="googleapis.com", metadata=metadata)


def permission_denied() -> GoogleRefusal:
    place = Violation("destinations[0].operating_account", "PERMISSION_DENIED", "The caller has no access to it.")
    return GoogleRefusal("PERMISSION_DENIED", "PERMISSION_DENIED", "The caller does not have permission.", [place])


def unknown_action(number: str) -> GoogleRefusal:
    reason = "INVALID_CONVERSION_ACTION_ID"
    place = Violation("destinations[0].product_destination_id", reason, f"No conversion action {number}.")
    return GoogleRefusal("NOT_FOUND", reason, "Requested entity was not found.", [place])


def exhausted(*, retry_after: int | None = None) -> GoogleRefusal:
    message = "Quota exceeded for quota metric 'Requests' and limit 'Requests per minute'."
    headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
    reason = "RATE_LIMIT_EXCEEDED"
    return GoogleRefusal("RESOURCE_EXHAUSTED", reason, message, domain="googleapis.com", headers=headers)


def _detail(kind: str, /, **columns: object) -> dict[str, object]:
    return {"@type": f"type.googleapis.com/google.rpc.{kind}", **columns}
