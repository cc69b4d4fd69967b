"""The Data Manager provider: it sends events, keeps the receipts, and asks for the verdicts later.

An adjustment is the conversion's event again, with another value: Google knows the conversion by transaction id and
action, and counts it once. There is no retraction, so the value of a retracted conversion becomes 0. All sites of an
OAuth client, or of a service account's project, share Google's limit of requests.
"""

import logging
import time
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import replace
from datetime import UTC
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection
from pydantic_core import to_json

from kilit.lock.outages import DATABASE_DOWN
from kilit.sentences import joined
from ociqueue import sentences
from ociqueue.models import Adjustment, Conversion
from ociqueue.models.credentials import GoogleAdsAccount
from ociqueue.models.quota import REFILL, RequestQuota
from ociqueue.states import Category, Disposition
from ociqueue.uploader.datamanager import replies
from ociqueue.uploader.datamanager.replies import NoReply, Transport
from ociqueue.uploader.datamanager.verdicts import read_status
from ociqueue.uploader.google import REFUSED, GoogleProvider, bisect_rejected, login_error, login_rejected
from ociqueue.uploader.results import RowResult, Verdict, VerdictStatus, ids_of

logger = logging.getLogger(__name__)

MOST_EVENTS = 2000
ANSWERED = (Conversion.Consent.GRANTED, Conversion.Consent.DENIED)
TRY_AGAIN_AFTER = 1 / REFILL  # seconds
SHORTEST_CALL = 0.5  # seconds
QUESTION_TIMEOUT = 20.0
MOST_ROUNDS = 10  # of sending what is left after Google named rows and refused the rest with them
UNAUTHENTICATED = "UNAUTHENTICATED"
# Google does not know the request, or not any more.
WORTHLESS = ("INVALID_REQUEST_ID", "REQUEST_TOO_OLD")
ERASED = RowResult(Disposition.FATAL, "ORIGINAL_ERASED", Category.PERMANENT, sentences.ERASED)


def split_requests(account: GoogleAdsAccount, rows: Sequence[Conversion]) -> Iterator[list[Conversion]]:
    """Yield the rows of each request in their order: one conversion action, and single rows that go alone."""
    together: dict[str, list[Conversion]] = {}
    for row in rows:
        key = f"alone {row.pk}" if row.send_alone else account.action_of(row.action)
        together.setdefault(key, []).append(row)
    for group in together.values():
        for start in range(0, len(group), MOST_EVENTS):
            yield group[start : start + MOST_EVENTS]


def ingest_body(account: GoogleAdsAccount, rows: Sequence[Conversion], *, validate_only: bool) -> bytes:
    events = [event(row) for row in rows]
    body = {
        "destinations": [destination(account, account.action_of(rows[0].action))],
        "events": events,
        **({"encoding": "HEX"} if any("userData" in sent for sent in events) else {}),
        **({"validateOnly": True} if validate_only else {}),
    }
    return to_json(body)


def destination(account: GoogleAdsAccount, action: str) -> dict[str, Any]:
    login = account.login_customer_id
    return {
        "operatingAccount": {"accountType": "GOOGLE_ADS", "accountId": account.customer_id},
        **({"loginAccount": {"accountType": "GOOGLE_ADS", "accountId": login}} if login else {}),
        "productDestinationId": action.rpartition("/")[2],
    }


def event(row: Conversion) -> dict[str, Any]:
    sent = {
        "transactionId": row.order_id,
        # In UTC: the site's zone may be changed between two attempts.
        "eventTimestamp": row.conversion_time.astimezone(UTC).isoformat("T", "seconds").replace("+00:00", "Z"),
        "conversionValue": float(row.value),
        "currency": row.currency,
        "eventSource": row.event_source,
    }
    if kind := row.kind_of_click_id:
        sent["adIdentifiers"] = {kind: getattr(row, kind)}
    if row.hashed_email or row.hashed_phone:
        hashes = {"emailAddress": row.hashed_email, "phoneNumber": row.hashed_phone}
        sent["userData"] = {"userIdentifiers": [{name: stored} for name, stored in hashes.items() if stored]}
    if row.consent_ad_user_data in ANSWERED or row.consent_ad_personalization in ANSWERED:
        consents = {"adUserData": row.consent_ad_user_data, "adPersonalization": row.consent_ad_personalization}
        sent["consent"] = {name: f"CONSENT_{value}" for name, value in consents.items() if value in ANSWERED}
    return sent


def wait_to_send(project: str, *, until: float) -> bool:
    """Count a request, waiting for its turn until then (`time.monotonic`); false if its turn does not come."""
    try:
        quota = RequestQuota.objects.of(project)
        while not quota.take():
            if time.monotonic() + TRY_AGAIN_AFTER > until:
                return False
            time.sleep(TRY_AGAIN_AFTER)
    except DATABASE_DOWN as error:
        # An upload has several requests: the replies to earlier ones must reach the caller all the same.
        if connection.in_atomic_block:
            raise
        logger.warning("no database connection; the request is not sent: %s", " ".join(str(error).split()))
        connection.close()
        return False
    return True


class DataManager(GoogleProvider):
    def __init__(self, account: GoogleAdsAccount) -> None:
        super().__init__(account)
        self.transport = Transport(self.credentials)

    def can_send(self) -> bool:
        return RequestQuota.objects.of(self.account.project).with_tokens().exists()

    def can_ask(self) -> bool:
        return RequestQuota.objects.of(self.account.project).take_question()

    def upload(self, batch: Sequence[Conversion], *, dry_run: bool, job_id: int | None = None) -> list[RowResult]:
        """Send rows in as many requests as they need; after a fault of the account or an outage the rest waits."""
        sending = Sending(self, dry_run=dry_run)
        results: dict[UUID, RowResult] = {}
        for rows in split_requests(self.account, batch):
            results.update(zip(ids_of(rows), sending.deliver(rows), strict=True))
        return [results[row.id] for row in batch]

    def verdict(self, request_id: str, rows: Sequence[Conversion]) -> Verdict:
        from google.auth.exceptions import GoogleAuthError

        timeout = min(QUESTION_TIMEOUT, settings.GOOGLE_ADS_TIMEOUT)
        try:
            reply = self.transport.get("requestStatus:retrieve", {"requestId": request_id}, timeout=timeout)
        except NoReply as error:
            return Verdict(VerdictStatus.UNKNOWN, note=str(error))
        except GoogleAuthError as error:
            return Verdict(VerdictStatus.UNKNOWN, note=str(login_error(error)))
        if reply.ok and reply.body is not None:
            return read_status(dict(reply.body), rows)
        result = replies.read_refusal(reply, 1)[0]
        is_refused = reply.status < replies.FAILED_AT_GOOGLE
        status = VerdictStatus.LOST if is_refused and result.code in WORTHLESS else VerdictStatus.UNKNOWN
        if result.code == UNAUTHENTICATED:
            self.forget_token()
        return Verdict(status, label=result.code[:40], note=result.message)


class Sending:
    """The requests of one upload: they share a time limit, and no two have the same request id."""

    def __init__(self, provider: DataManager, *, dry_run: bool) -> None:
        self.provider, self.dry_run = provider, dry_run
        # All requests end by then, so that the task has time to settle before a sweep takes the rows back.
        self.end = time.monotonic() + settings.GOOGLE_ADS_TIMEOUT
        self.request_ids: set[str] = set()
        self.tried: set[UUID] = set()
        self.is_stopped = False

    def deliver(self, rows: list[Conversion]) -> list[RowResult]:
        """Send rows; when Google names some and refuses the others with them, the others go again."""
        results = bisect_rejected(rows, self.request)
        for _ in range(MOST_ROUNDS - 1):
            left = [row for row, result in zip(rows, results, strict=True) if result.code == REFUSED]
            if not left:
                break
            # Rows were named, so the next request is another one: if there is no time for it, it costs no attempt.
            self.tried.difference_update(ids_of(left))
            again = iter(bisect_rejected(left, self.request))
            results = [next(again) if result.code == REFUSED else result for result in results]
        # The next requests are other rows': after an outage they wait for the next upload.
        self.is_stopped = self.is_stopped or any(result.whole_request and result.ambiguous for result in results)
        return results

    def request(self, rows: list[Conversion]) -> list[RowResult]:
        from google.auth.exceptions import GoogleAuthError

        if self.is_stopped:
            return [not_sent("EARLIER_REQUEST_FAILED", sentences.EARLIER_FAILED)] * len(rows)
        if self.end - time.monotonic() < SHORTEST_CALL:
            return [self.no_time_left(row) for row in rows]
        if not wait_to_send(self.provider.account.project, until=self.end - SHORTEST_CALL):
            return [not_sent("QUOTA_USED_UP", sentences.NO_QUOTA)] * len(rows)
        self.tried.update(ids_of(rows))
        body = ingest_body(self.provider.account, rows, validate_only=self.dry_run)
        try:
            reply = self.provider.transport.post("events:ingest", body, timeout=self.end - time.monotonic())
        except NoReply as error:
            return replies.unproven(len(rows), str(error), code="NO_ANSWER")
        except GoogleAuthError as error:
            results = login_rejected(login_error(error), len(rows))
        else:
            results = replies.read_ingest(reply, len(rows), dry_run=self.dry_run)
        first = results[0]
        # When the account or its quota is at fault, the next request would fare the same.
        is_gate = first.disposition in (Disposition.GATE, Disposition.GATE_ALL)
        self.is_stopped = first.whole_request and (is_gate or first.category == Category.RATE_LIMIT)
        if first.code == UNAUTHENTICATED:
            self.provider.forget_token()
        if first.disposition == Disposition.RECEIVED:
            # The rows of two requests with the same id would be taken for one request's.
            if first.request_id in self.request_ids:
                return replies.unproven(len(rows), sentences.SAME_REQUEST_ID)
            self.request_ids.add(first.request_id)
        return results

    def no_time_left(self, row: Conversion) -> RowResult:
        """A row that was sent before, and refused, pays with its attempt: otherwise slow refusals would never end."""
        message = sentences.NO_TIME_LEFT
        if row.pk not in self.tried:
            return not_sent("NO_TIME_LEFT", message)
        return RowResult(Disposition.RETRY, "NO_TIME_LEFT", Category.TRANSIENT, message, whole_request=True)


def not_sent(code: str, message: str) -> RowResult:
    return RowResult(Disposition.UNSENT, code, Category.TRANSIENT, message, whole_request=True)


class DataManagerAdjustments(DataManager):
    def upload(self, batch: Sequence[Any], *, dry_run: bool, job_id: int | None = None) -> list[RowResult]:
        """Send adjustments as events of their conversions; those without an identifier fail and are not sent."""
        events = [event for event in as_conversions(batch) if event.click_id or event.has_only_hashes]
        event_results = super().upload(events, dry_run=dry_run, job_id=job_id)
        results = dict(zip(ids_of(events), event_results, strict=True))
        for row in batch:
            result = results.setdefault(row.pk, ERASED)
            if row.is_retraction and result.disposition != Disposition.UNSENT and result is not ERASED:
                results[row.pk] = replace(result, sent_as_zero=True)
        return [results[row.pk] for row in batch]

    def verdict(self, request_id: str, rows: Sequence[Any]) -> Verdict:
        """Return a verdict in which "already there" is no success: the conversion is there, whatever its value is."""
        verdict = super().verdict(request_id, rows)
        results = [
            replace(result, disposition=Disposition.FATAL, message=joined(sentences.NOT_ADJUSTED, result.message))
            if result.disposition == Disposition.DUPLICATE
            else result
            for result in verdict.results
        ]
        return replace(verdict, results=results)


def as_conversions(adjustments: Sequence[Adjustment]) -> Iterator[Conversion]:
    """Yield the conversions as they are sent again: each with the id and the value of its adjustment."""
    originals = Conversion.objects.in_bulk([row.original_id for row in adjustments])
    for row in adjustments:
        event = copy(originals[row.original_id])
        event.pk, event.send_alone = row.pk, row.send_alone
        event.value = row.value or 0
        event.currency = row.currency or event.currency
        yield event
