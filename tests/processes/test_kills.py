"""kill -9 at each point of each queue's work: whoever comes next goes on, and nothing is lost or done twice.

A scene is a kind of work: its points, what is there before, what brings it back, and what must hold then.
A new point is one more line of its table.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any, ClassVar

import pytest
from django.db.models import Q
from django.db.models.functions import Now

from kilit.api.webhooks import webhook_kinds
from kilit.workers.doorbells import doorbells
from ociqueue.files import import_run
from ociqueue.models import Conversion, ImportJob, Receipt, UploadBatch
from ociqueue.uploader import settle, upload_run, verdict_run
from ociqueue.uploader.datamanager.replies import Transport
from ociqueue.uploader.upload_run import upload_due
from ociqueue.uploader.verdict_run import ask_for_verdicts
from orchestrator.drafts import sending as draft_sending
from orchestrator.models import Job, OrderFile
from orchestrator.planning.rules import current_rules
from outbox import batches, log_reader, sending, settling
from outbox.models import Attempt, OutboxMessage
from outbox.states import MessageStatus
from simulators.googleads.server import accept
from tests.apps.parcels.models import Parcel
from tests.support import cutting_scenes
from tests.support.commands import ROOT
from tests.support.conversions import new_conversion
from tests.support.drafts import UPLOAD, make_draft
from tests.support.fixtures.conversions import make_site, site
from tests.support.fixtures.cutting_jobs import at_rest_at_once, customer, floor, rules_file
from tests.support.fixtures.datamanager import _data_manager, data_manager, dm_site, let_time_pass, make_dm_site
from tests.support.fixtures.imports import operator, small_steps
from tests.support.fixtures.outbox import endpoint
from tests.support.fixtures.uploads import _google, api_site, google, make_api_site
from tests.support.imports import HEADER, confirm, good_lines, uploaded, worked
from tests.support.kills import KILLED, Scene, after, before
from tests.support.outbox import PARCEL_CARRIED, ask_receiver, make_endpoint, queue_messages
from tests.support.waiting import PATIENCE, wait_until
from tests.support.workers import database_url

__all__ = [
    "_data_manager",
    "_google",
    "api_site",
    "at_rest_at_once",
    "customer",
    "data_manager",
    "dm_site",
    "endpoint",
    "floor",
    "google",
    "let_time_pass",
    "make_api_site",
    "make_dm_site",
    "make_site",
    "operator",
    "rules_file",
    "site",
    "small_steps",
]

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("audited")]


class LogReader(Scene):
    points: ClassVar = {
        "before it reads": before(log_reader, "_settle"),
        "before it stores messages": before(log_reader, "bulk_insert"),
        "before it commits": after(log_reader, "_make_messages"),
        "after it committed": after(log_reader, "_read_span"),
    }
    work = staticmethod(log_reader.read_log)

    def __init__(self, get: Callable[[str], Any], point: str) -> None:
        get("monkeypatch").setitem(webhook_kinds, PARCEL_CARRIED.name, PARCEL_CARRIED)
        make_endpoint()
        Parcel.objects.bulk_create(Parcel() for _ in range(20))
        Parcel.objects.claim(limit=20)

    def go_on(self) -> None:
        while log_reader.read_log():
            pass

    def prove(self) -> None:
        reported = list(OutboxMessage.objects.order_by("object_id").values_list("object_id", flat=True))
        assert reported == sorted(Parcel.objects.values_list("pk", flat=True))


class Sender(Scene):
    """No message arrives under two ids or with other bytes."""

    points: ClassVar = {
        "before it claims": before(sending, "claim"),
        "before it sends": before(batches.MessageBatch, "send"),
        "between two messages": before(batches.MessageBatch, "ends_with"),
        "before it settles": before(sending, "settle"),
        "before it commits": before(settling, "_note_endpoint"),
        "after it committed": after(sending, "settle"),
    }
    work = staticmethod(sending.send_due)

    def __init__(self, get: Callable[[str], Any], point: str) -> None:
        self.endpoint = get("endpoint")
        self.ids = {message.webhook_id for message in queue_messages(self.endpoint, 40)}

    def go_on(self) -> None:
        lost = OutboxMessage.objects.filter(status=MessageStatus.SENDING)
        self.in_flight = lost.update(lease_until=Now() - timedelta(seconds=1))
        assert OutboxMessage.objects.recover() == self.in_flight
        wait_until(lambda: not doorbells[sending.BELL].is_due() or sending.send_due())

    def prove(self) -> None:
        assert not OutboxMessage.objects.exclude(status=MessageStatus.DELIVERED).exists()
        assert set(ask_receiver(self.endpoint, "/ids")) == self.ids
        counts = ask_receiver(self.endpoint)
        assert counts["accepted"] - counts.get("repeated", 0) == len(self.ids)
        assert counts.get("repeated", 0) <= self.in_flight  # only what was in flight may arrive twice
        assert not counts.keys() & {"invalid", "changed"}
        assert Attempt.objects.values("message_id").distinct().count() == len(self.ids)


class GoogleAdsUpload(Scene):
    """In a new process, because gRPC does not outlive a fork; in the call, the server kills its caller."""

    points: ClassVar = {
        "before it notes the call": before(upload_run, "mark_sent"),
        "in the call": lambda: None,
        "before it settles": before(upload_run, "settle_reply"),
    }
    process = "import django; django.setup(); import {0} as t; t.GoogleAdsUpload.points[{1!r}](); t.upload_due()"

    def __init__(self, get: Callable[[str], Any], point: str) -> None:
        self.google, self.is_sent = get("google"), point != next(iter(self.points))
        for number in range(3):
            new_conversion(get("api_site"), gclid=f"click-{number}").save()
        if point == "in the call":
            self.google.replies.append(self.kill_the_caller)

    def kill_the_caller(self, call: Any) -> Any:
        self.caller.kill()
        return accept(call)

    def die(self, point: str) -> int:
        variables = {"DJANGO_SETTINGS_MODULE": "tests.settings", "DATABASE_URL": database_url()}
        command = [sys.executable, "-c", self.process.format(__name__, point)]
        self.caller = subprocess.Popen(command, cwd=ROOT, env={**os.environ, **self.google.environment, **variables})
        return self.caller.wait(timeout=PATIENCE)

    def go_on(self) -> None:
        assert set(Conversion.objects.values_list("status", "uploaded_at")) == {("PROCESSING", None)}
        assert UploadBatch.objects.get().answered_at is None
        assert (len(self.google.calls), len(self.google.applied)) == ((1, 3) if self.is_sent else (0, 0))
        assert Conversion.objects.recover(min_age=-timedelta(minutes=1)) == 3
        assert set(Conversion.objects.values_list("outcome_unknown", flat=True)) == {self.is_sent}
        upload_due()

    def prove(self) -> None:
        assert set(Conversion.objects.values_list("status", "attempt_count")) == {("COMPLETED", 2)}
        assert not Conversion.objects.filter(Q(uploaded_at=None) | Q(provider_request_id="")).exists()
        assert len(self.google.applied) == 3
        first, *others = [list(call.request.conversions) for call in self.google.calls]
        assert others == [first] * self.is_sent


class Upload(Scene):
    """To the Data Manager API, before the call: no row is COMPLETED without Google's proof."""

    points: ClassVar = {
        "before it notes the call": before(upload_run, "mark_sent"),
        "before the call": before(upload_run, "send"),
    }
    work = staticmethod(upload_due)
    sent = 1  # how often Google got the rows in all

    def __init__(self, get: Callable[[str], Any], point: str) -> None:
        self.google, self.let_time_pass = get("data_manager"), get("let_time_pass")
        for click_id in ("click-0", "FAIL-CLICK_NOT_FOUND-1", "click-2"):
            new_conversion(get("dm_site"), gclid=click_id).save()

    def are(self, status: str) -> bool:
        return list(Conversion.objects.values_list("status", flat=True)) == [status] * 3

    def check(self) -> None:
        assert self.are("PROCESSING")
        upload_due()
        assert self.google.uploads == [], "a held row is not sent by another process"

    def go_on(self) -> None:
        """Let the sweep, an upload and a question come, each at its time."""
        self.check()
        Conversion.objects.recover(min_age=-timedelta(minutes=1))
        Conversion.objects.filter(status="RETRY").update(next_retry_at=Now())
        upload_due()
        self.let_time_pass(timedelta(hours=2))
        ask_for_verdicts()

    def prove(self) -> None:
        """Each row has ended as Google's books say; Google counts it once, however often its bytes came."""
        for row in Conversion.objects.all():
            assert (row.status == "COMPLETED") == (row.order_id in self.google.applied)
            assert (row.status == "FAILED") == row.gclid.startswith("FAIL-")
            entry = self.google.entries[row.order_id]
            assert len(set(entry.events)) == 1
            assert len(entry.events) <= row.attempt_count, "a claim sends once"
            assert row.provider_request_id in entry.request_ids
        assert not Receipt.objects.open().exists()
        assert len(self.google.uploads) == self.sent
        assert len({upload.body for upload in self.google.uploads}) == 1


class UploadUnderWay(Upload):
    """In the call: the server kills its caller."""

    points: ClassVar = {"in the call": lambda: None}
    sent = 2

    def __init__(self, get: Callable[[str], Any], point: str) -> None:
        super().__init__(get, point)
        victim, post = get("tmp_path") / "pid", Transport.post

        def post_with_a_name(*args: Any, **options: Any) -> Any:
            victim.write_text(str(os.getpid()))
            return post(*args, **options)

        def kill_the_caller(call: Any) -> Any:
            os.kill(int(victim.read_text()), signal.SIGKILL)
            return call.accept()

        get("monkeypatch").setattr(Transport, "post", post_with_a_name)
        self.google.replies.append(kill_the_caller)

    def check(self) -> None:
        assert self.are("PROCESSING")


class UploadAnswered(Upload):
    """After the call, and before its receipt is stored."""

    points: ClassVar = {
        "after the answer": after(Transport, "post"),
        "before it settles": before(upload_run, "settle_reply"),
        "before it commits the receipt": after(settle, "_store_receipts"),
    }
    sent = 2

    def check(self) -> None:
        assert (self.are("PROCESSING"), Receipt.objects.count()) == (True, 0)
        assert len(self.google.applied) == 2, "Google has them"
        self.let_time_pass()
        ask_for_verdicts()
        assert self.are("PROCESSING"), "nothing is COMPLETED without a receipt"
        Conversion.objects.recover(min_age=-timedelta(minutes=1))
        assert set(Conversion.objects.values_list("status", "outcome_unknown")) == {("RETRY", True)}
        self.google.reports_duplicates = True


class Verdicts(Upload):
    points: ClassVar = {
        "after it took the receipt": before(verdict_run, "rows_of"),
        "after Google's answer": after(Transport, "get"),
        "before it settles": before(verdict_run, "settle_verdict"),
        "before it commits the moves": after(verdict_run, "_move"),
    }
    work = staticmethod(ask_for_verdicts)

    def __init__(self, get: Callable[[str], Any], point: str) -> None:
        super().__init__(get, point)
        upload_due()
        self.let_time_pass()

    def check(self) -> None:
        assert self.are("UPLOADED")
        ask_for_verdicts()
        assert self.are("UPLOADED"), "the next question has its time"


class Import(Scene):
    """It leaves whole batches."""

    points: ClassVar = {"before it commits the second batch": after(import_run.StoringPass, "process", times=2)}
    work = staticmethod(import_run.ENGINE.work_due)

    def __init__(self, get: Callable[[str], Any], point: str) -> None:
        self.job = worked(uploaded(get("operator"), get("site"), HEADER + good_lines(10)))
        confirm(get("operator"), self.job)

    def go_on(self) -> None:
        self.job.refresh_from_db()
        assert (self.job.counts["created"], Conversion.objects.count()) == (3, 3)
        ImportJob.objects.update(lease_until="2020-01-01T00:00Z")  # or it lapses by itself later
        worked(self.job)

    def prove(self) -> None:
        assert (self.job.status, self.job.counts["created"], self.job.counts["duplicates"]) == ("DONE", 10, 0)
        assert Conversion.objects.count() == 10


class Draft(Scene):
    """A draft that is sent becomes one job with its file, or none."""

    points: ClassVar = {
        "before the job is stored": before(draft_sending, "enqueue"),
        "after the job, before its file": after(draft_sending, "enqueue"),
        "after the file, before the draft is sent": after(draft_sending, "store_order_file"),
    }

    def __init__(self, get: Callable[[str], Any], point: str) -> None:
        self.work = partial(draft_sending.send_draft, make_draft(upload=UPLOAD).pk, current_rules())

    def go_on(self) -> None:
        assert not Job.objects.exists()
        self.sent = self.work()

    def prove(self) -> None:
        assert self.sent == (Job.objects.get(), False)
        assert OrderFile.objects.get().job == Job.objects.get()


SCENES = (
    LogReader,
    Sender,
    GoogleAdsUpload,
    Upload,
    UploadUnderWay,
    UploadAnswered,
    Verdicts,
    Import,
    Draft,
    *cutting_scenes.SCENES,
)


@pytest.mark.parametrize(
    ("scene", "point"),
    [case for scene in SCENES for case in scene.cases()],
)
@pytest.mark.by_day(12)
def test_nothing_is_lost_or_done_twice_after_the_death_of(
    scene: type[Scene], point: str, request: pytest.FixtureRequest
) -> None:
    made = scene(request.getfixturevalue, point)

    assert made.die(point) == KILLED

    made.go_on()
    made.prove()
