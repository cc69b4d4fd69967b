"""kill -9 at each step of an upload: after the sweeps no row is lost, and none is COMPLETED without proof."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import timedelta

import pytest

from ociqueue.models import Conversion, UploadBatch
from ociqueue.uploader.upload_run import upload_due
from simulators.googleads.server import accept
from tests.support.commands import ROOT
from tests.support.waiting import PATIENCE, wait_until
from tests.support.workers import database_url

pytestmark = pytest.mark.django_db(transaction=True)

ROWS = 3
# The upload stands still at a step, as a process does that is about to die there.
STAND_STILL = """
    CREATE FUNCTION pg_temp_stand_still() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN PERFORM pg_sleep({longest}); RETURN NEW; END $$;
    CREATE TRIGGER stand_still BEFORE UPDATE ON ociqueue_uploadbatch FOR EACH ROW
    WHEN (OLD.{column} IS NULL AND NEW.{column} IS NOT NULL) EXECUTE FUNCTION pg_temp_stand_still();
"""
GO_ON = "DROP TRIGGER stand_still ON ociqueue_uploadbatch; DROP FUNCTION pg_temp_stand_still();"
SLEEPERS = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'"


@pytest.fixture
def uploader(google) -> Iterator[subprocess.Popen]:
    """A real `manage.py oci_upload` in a process of its own."""
    environment = {
        **os.environ,
        **google.environment,
        "DJANGO_SETTINGS_MODULE": "tests.settings",
        "DATABASE_URL": database_url(),
    }

    class Uploader:
        def start(self) -> None:
            self.process = subprocess.Popen([sys.executable, "manage.py", "oci_upload"], cwd=ROOT, env=environment)

        def kill(self) -> None:
            self.process.kill()
            self.process.wait(timeout=PATIENCE)

    started = Uploader()
    yield started
    started.kill()


def die_at(column: str, uploader, sql) -> None:
    """Start the uploader and kill it where it writes a column of the batch."""
    sql(STAND_STILL.format(column=column, longest=PATIENCE))
    uploader.start()
    wait_until(lambda: bool(sql(SLEEPERS)))
    uploader.kill()
    for (pid,) in sql(SLEEPERS):
        sql("SELECT pg_terminate_backend(%s)", pid)
    wait_until(lambda: not sql(SLEEPERS))
    sql(GO_ON)


def recover_and_upload(site) -> None:
    assert Conversion.objects.recover(min_age=-timedelta(minutes=1)) == ROWS
    upload_due()
    for row in site.conversions.all():
        assert (row.status, row.attempt_count) == ("COMPLETED", 2)
        assert row.uploaded_at
        assert row.provider_request_id


def test_killed_between_claim_and_call(google, api_site, make_rows, uploader, sql) -> None:
    make_rows(api_site, count=ROWS)

    die_at("sent_at", uploader, sql)

    assert google.calls == []
    assert set(api_site.conversions.values_list("status", flat=True)) == {"PROCESSING"}
    Conversion.objects.recover(min_age=-timedelta(minutes=1))
    assert not api_site.conversions.filter(outcome_unknown=True).exists(), "it was provably never sent"
    upload_due()
    assert set(api_site.conversions.values_list("status", "attempt_count")) == {("COMPLETED", 2)}


def test_killed_during_the_call(google, api_site, make_rows, uploader) -> None:
    make_rows(api_site, count=ROWS)
    asked, go_on = threading.Event(), threading.Event()

    def slow(call):
        answer = accept(call)
        asked.set()
        go_on.wait(PATIENCE)
        return answer

    google.replies.append(slow)
    uploader.start()
    assert asked.wait(PATIENCE)
    uploader.kill()
    go_on.set()

    assert UploadBatch.objects.get().answered_at is None
    assert set(api_site.conversions.values_list("status", "uploaded_at")) == {("PROCESSING", None)}
    recover_and_upload(api_site)
    assert len(google.applied) == ROWS


def test_killed_between_answer_and_settle(google, api_site, make_rows, uploader, sql) -> None:
    make_rows(api_site, count=ROWS)

    die_at("answered_at", uploader, sql)

    assert len(google.applied) == ROWS
    assert set(api_site.conversions.values_list("status", "uploaded_at")) == {("PROCESSING", None)}
    recover_and_upload(api_site)
    first, second = (call.request for call in google.calls)
    assert list(first.conversions) == list(second.conversions)
