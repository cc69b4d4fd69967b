"""A stand-in for a provider that gives its verdict later: no HTTP, the real reading of statuses."""

import threading
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from django.db.models.functions import Now

from ociqueue.models import Adjustment, Conversion, Receipt, Site
from ociqueue.models.uploadable import Uploadable
from ociqueue.states import Disposition, SyncMethod
from ociqueue.uploader.datamanager.verdicts import read_status
from ociqueue.uploader.results import RowResult, Verdict
from ociqueue.uploader.upload_run import upload_due

Status = dict[str, Any]


@dataclass
class LaterGoogle:
    """What the stand-in was sent, and what it answers; click ids name rows, as `label` says."""

    requests: dict[str, list[str]] = field(default_factory=dict)  # click ids by request id
    reasons: dict[str, list[str]] = field(default_factory=dict)  # of a click id, in the verdict
    at_once: dict[str, RowResult] = field(default_factory=dict)  # for a click id, instead of a receipt
    change: Callable[[Status], None] | None = None  # made to the only destination of every status
    answer: Callable[[str], Verdict] | None = None  # instead of a status
    asked: list[str] = field(default_factory=list)
    quota: int = 1_000_000
    login: Exception | None = None
    lock: Any = field(default_factory=threading.Lock)
    log: list[tuple[str, str]] = field(default_factory=list)  # sender and click id of everything that was sent
    held: dict[str, str] = field(default_factory=dict)  # the sender that has a click id now
    conflicts: list[tuple[str, str, str]] = field(default_factory=list)  # click ids that two senders had at once

    @property
    def sent(self) -> list[str]:
        return [click for clicks in self.requests.values() for click in clicks]

    def hold(self, sender: str, click: str) -> None:
        """Note that a sender sends a row; another one must not have it."""
        with self.lock:
            self.log.append((sender, click))
            if click in self.held:
                self.conflicts.append((click, self.held[click], sender))
            self.held[click] = sender

    def release(self, *clicks: str) -> None:
        with self.lock:
            for click in clicks:
                self.held.pop(click, None)

    def status(self, request_id: str) -> Status:
        clicks = self.requests[request_id]
        places: dict[str, list[int]] = defaultdict(list)
        for place, click in enumerate(clicks):
            for reason in self.reasons.get(click, []):
                places[reason].append(place)
        failed = len({place for found in places.values() for place in found})
        one: Status = {
            "requestStatus": "SUCCESS" if not failed else "FAILED" if failed == len(clicks) else "PARTIAL_SUCCESS",
            "eventsIngestionStatus": {"recordCount": str(len(clicks))},
        }
        if failed:
            counts = [{"reason": name, "recordCount": len(at), "recordIndices": at} for name, at in places.items()]
            one["errorInfo"] = {"errorCounts": counts}
        if self.change:
            self.change(one)
        return {"requestStatusPerDestination": [one]}


GOOGLE = LaterGoogle()


def label(row: Uploadable) -> str:
    """Return what the stand-in knows a row by: its click id, and for an adjustment also the new value."""
    if isinstance(row, Adjustment):
        return f"{row.original.gclid}={'retracted' if row.value is None else format(float(row.value), 'g')}"
    assert isinstance(row, Conversion)
    return row.gclid


class LaterStandIn:
    """Registered in place of the Data Manager provider."""

    def __init__(self, account: Any) -> None:
        self.account = account

    def refresh(self) -> None:
        if GOOGLE.login:
            raise GOOGLE.login

    def can_send(self) -> bool:
        return True

    def identities(self, row: Uploadable) -> set[tuple[Hashable, ...]]:
        return {(row.order_id,)}

    def upload(self, batch: Sequence[Uploadable], *, dry_run: bool, job_id: int | None = None) -> list[RowResult]:
        for row in batch:
            GOOGLE.hold(SyncMethod.DATA_MANAGER, label(row))
        with GOOGLE.lock:
            return [GOOGLE.at_once.get(label(row)) or self._take(row, batch) for row in batch]

    def _take(self, row: Any, batch: Sequence[Any]) -> RowResult:
        request_id = f"{batch[0].open_batch_id}"[-20:] + f"-{label(row) if row.send_alone else row.action}"
        GOOGLE.requests.setdefault(request_id, []).append(label(row))
        return RowResult(Disposition.RECEIVED, request_id=request_id)

    def can_ask(self) -> bool:
        with GOOGLE.lock:
            GOOGLE.quota -= 1
            return GOOGLE.quota >= 0

    def verdict(self, request_id: str, rows: Sequence[Uploadable]) -> Verdict:
        GOOGLE.release(*GOOGLE.requests.get(request_id, []))
        with GOOGLE.lock:
            GOOGLE.asked.append(request_id)
            if GOOGLE.answer:
                return GOOGLE.answer(request_id)
            assert [label(row) for row in rows] == GOOGLE.requests[request_id], "the order that was sent"
            return read_status(GOOGLE.status(request_id), rows)


class AtOnceStandIn(LaterStandIn):
    """Registered in place of the Google Ads provider: it accepts every row."""

    def upload(self, batch: Sequence[Uploadable], *, dry_run: bool, job_id: int | None = None) -> list[RowResult]:
        for row in batch:
            GOOGLE.hold(SyncMethod.API, label(row))
        GOOGLE.release(*(label(row) for row in batch))
        return [RowResult(Disposition.ACCEPTED, request_id="at once")] * len(batch)


def run_script(site: Site, *, limit: int = 100) -> int:
    """Do what the site's script does: claim, send, acknowledge."""
    rows = Conversion.objects.for_site(site).claim(limit=limit)
    for row in rows:
        GOOGLE.hold(SyncMethod.SCRIPT, row.gclid)
    GOOGLE.release(*(row.gclid for row in rows))
    Conversion.objects.filter(pk__any_of=[row.pk for row in rows]).move("ack")
    return len(rows)


def without_places(status: Status) -> None:
    for count in status.get("errorInfo", {}).get("errorCounts", []):
        del count["recordIndices"]


def make_due(**age: int) -> None:
    """Make every open receipt due now, and so old."""
    Receipt.objects.open().update(received_at=Now() - timedelta(**(age or {"minutes": 31})), next_check_at=Now())


def send(site: Site) -> None:
    """Let each sender do its work; only the site's own may find rows."""
    run_script(site)
    upload_due()
