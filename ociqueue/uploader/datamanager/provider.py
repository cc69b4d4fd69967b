"""The Data Manager provider: it sends events, keeps the receipts, and asks for the verdicts later."""

import time
from collections.abc import Sequence
from uuid import UUID

from django.conf import settings

from ociqueue.models import Conversion
from ociqueue.models.credentials import GoogleAdsAccount
from ociqueue.states import Category
from ociqueue.uploader import quota
from ociqueue.uploader.bisecting import bisect_rejected
from ociqueue.uploader.datamanager import answers
from ociqueue.uploader.datamanager.requests import ingest_body, split_requests
from ociqueue.uploader.datamanager.transport import NoAnswer, Transport
from ociqueue.uploader.datamanager.verdicts import read_status
from ociqueue.uploader.google_login import google_credentials, login_error, login_rejected, refresh
from ociqueue.uploader.identities import google_identities
from ociqueue.uploader.results import Disposition, Identities, RowResult, Verdict, VerdictStatus, ids_of

SHORTEST_CALL = 0.5  # seconds
QUESTION_TIMEOUT = 20.0
MOST_ROUNDS = 10  # of sending what is left after Google named rows and refused the rest with them
UNAUTHENTICATED = "UNAUTHENTICATED"
# Google does not know the request, or not any more.
WORTHLESS = ("INVALID_REQUEST_ID", "REQUEST_TOO_OLD")
# What a result of a whole request says about the next ones.
BLOCKING = (Disposition.GATE, Disposition.GATE_ALL)


class DataManager:
    def __init__(self, account: GoogleAdsAccount) -> None:
        self.account = account
        self.credentials = google_credentials(account)
        self.transport = Transport(self.credentials)

    def refresh(self) -> None:
        """Log in, so that revoked credentials are noticed before rows are claimed."""
        refresh(self.credentials)

    def can_send(self) -> bool:
        return quota.can_send(self.account.project)

    def can_ask(self) -> bool:
        return quota.can_ask(self.account.project)

    def identities(self, row: Conversion) -> Identities:
        return google_identities(self.account, row)

    def upload(
        self,
        batch: Sequence[Conversion],
        *,
        dry_run: bool,
        job_id: int | None = None,
    ) -> list[RowResult]:
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
            answer = self.transport.get("requestStatus:retrieve", {"requestId": request_id}, timeout=timeout)
        except NoAnswer as error:
            return Verdict(VerdictStatus.UNKNOWN, note=str(error))
        except GoogleAuthError as error:
            return Verdict(VerdictStatus.UNKNOWN, note=str(login_error(error)))
        if answer.ok and answer.body is not None:
            return read_status(dict(answer.body), rows)
        result = answers.read_refusal(answer, 1)[0]
        is_refused = answer.status < answers.FAILED_AT_GOOGLE
        status = VerdictStatus.LOST if is_refused and result.code in WORTHLESS else VerdictStatus.UNKNOWN
        if result.code == UNAUTHENTICATED:
            self.forget_token()
        return Verdict(status, answer=result.code[:40], note=result.message[:1000])

    def forget_token(self) -> None:
        """Log in again next time, although the token has not expired yet."""
        self.credentials.token = None
        self.credentials.expiry = None


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
            left = [row for row, result in zip(rows, results, strict=True) if result.code == answers.REFUSED]
            if not left:
                break
            # Rows were named, so the next request is another one: if there is no time for it, it costs no attempt.
            self.tried.difference_update(ids_of(left))
            again = iter(bisect_rejected(left, self.request))
            results = [next(again) if result.code == answers.REFUSED else result for result in results]
        # The next requests are other rows': after an outage they wait for the next upload.
        self.is_stopped = self.is_stopped or any(is_lost(result) for result in results)
        return results

    def request(self, rows: list[Conversion]) -> list[RowResult]:
        """Send one request; whatever comes back becomes a result for each row."""
        from google.auth.exceptions import GoogleAuthError

        if self.is_stopped:
            return [not_sent("EARLIER_REQUEST_FAILED", "An earlier request of the upload failed.")] * len(rows)
        if self.end - time.monotonic() < SHORTEST_CALL:
            return [self.no_time_left(row) for row in rows]
        if not quota.wait_to_send(self.provider.account.project, until=self.end - SHORTEST_CALL):
            return [not_sent("QUOTA_USED_UP", "Google allows no more requests in this minute.")] * len(rows)
        self.tried.update(ids_of(rows))
        body = ingest_body(self.provider.account, rows, validate_only=self.dry_run)
        try:
            answer = self.provider.transport.post("events:ingest", body, timeout=self.end - time.monotonic())
        except NoAnswer as error:
            return answers.unproven(len(rows), str(error), code="NO_ANSWER")
        except GoogleAuthError as error:
            results = login_rejected(login_error(error), len(rows))
        else:
            results = answers.read_ingest(answer, len(rows), dry_run=self.dry_run)
        self.is_stopped = is_blocking(results[0])
        if results[0].code == UNAUTHENTICATED:
            self.provider.forget_token()
        return self.with_new_id(results)

    def with_new_id(self, results: list[RowResult]) -> list[RowResult]:
        """Believe no receipt with the id of another request: the rows of both would be taken for one request's."""
        first = results[0]
        if first.disposition != Disposition.RECEIVED:
            return results
        if first.request_id in self.request_ids:
            return answers.unproven(len(results), "Google answered two requests with the same request id.")
        self.request_ids.add(first.request_id)
        return results

    def no_time_left(self, row: Conversion) -> RowResult:
        """A row that was sent before, and refused, pays with its attempt: otherwise slow refusals would never end."""
        message = "Earlier requests of the upload used up its time."
        if row.pk not in self.tried:
            return not_sent("NO_TIME_LEFT", message)
        return RowResult(Disposition.RETRY, "NO_TIME_LEFT", Category.TRANSIENT, message, whole_request=True)


def not_sent(code: str, message: str) -> RowResult:
    return RowResult(Disposition.UNSENT, code, Category.TRANSIENT, message, whole_request=True)


def is_blocking(result: RowResult) -> bool:
    """Return whether the account or its quota is at fault, so that the next request would fare the same."""
    blocked = result.disposition in BLOCKING or result.category == Category.RATE_LIMIT
    return result.whole_request and blocked


def is_lost(result: RowResult) -> bool:
    return result.whole_request and result.ambiguous
