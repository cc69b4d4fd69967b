"""A backup is one moment of database and files, and what is restored from it is that moment and works on."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg
import pytest

from kilit.backup.manifest import NAME
from kilit.backup.programs import BackupRefused, error_line
from kilit.backup.restore import verify
from kilit.database.origin import UnusableTables
from tests.support.installation import Installation, installation
from tests.support.installation_contents import WHOLE, contents, files, sequences, torn
from tests.support.waiting import PATIENCE, wait_until

# In one process, for each start of one takes as long as all that it does here.
FILL = """
from django.core.management import call_command
call_command("migrate", verbosity=0)
call_command("demo")
from pdfjobs.states import PdfStatus
from tests.support.pdf_jobs import bring, new_job
for number, status in enumerate([*PdfStatus, PdfStatus.SUCCEEDED]):
    assert bring(new_job(number=number), status).status == status
"""
# Work that never ends: there is always some waiting and some under way.
FEED = """
import itertools, time
from pdfjobs.models import PdfJob
from tests.support.pdf_jobs import new_job
from tests.apps.parcels.models import Parcel
for number in itertools.count(100):
    while PdfJob.objects.filter(status__in=["queued", "running"]).count() >= 6:
        time.sleep(0.02)
    new_job(number=number)
    Parcel.objects.create(work=0.05)
"""
HISTORY = "SELECT id, to_jsonb(each)::text FROM lock_event each"
STATES = "SELECT status, count(*) FROM pdfjobs_pdfjob GROUP BY 1"
LIVE = "SELECT count(*) FROM pdfjobs_pdfjob WHERE status IN ('queued', 'running')"


@contextmanager
def filled() -> Iterator[Installation]:
    with installation("tests.apps.patient.settings") as kilit:
        kilit.must("shell", "--no-imports", "-c", FILL)
        yield kilit


@pytest.fixture(scope="module")
def quiet() -> Iterator[Installation]:
    """An idle installation with jobs in every state."""
    with filled() as kilit:
        yield kilit


@pytest.fixture
def busy(tmp_path: Path) -> Iterator[Installation]:
    """One that was backed up under load."""
    with filled() as kilit:
        workers = kilit.workers()
        feeder = kilit.start(sys.executable, "manage.py", "shell", "-c", FEED)
        made = "SELECT count(*) FROM pdfjobs_pdfjob WHERE status = 'succeeded'"
        ((before,),) = kilit.ask(made)
        wait_until(lambda: kilit.ask(made) >= [(before + 5,)])
        kilit.backup = tmp_path / "busy"
        kilit.must("backup", str(kilit.backup))
        kilit.refused = kilit.manage("restore", "--replace", str(kilit.backup))
        assert feeder.poll() is None
        feeder.kill()
        workers.terminate()
        assert workers.wait(timeout=PATIENCE) == 0
        yield kilit


@pytest.fixture(scope="module")
def elsewhere() -> Iterator[Installation]:
    """Another machine to restore on."""
    with installation("tests.apps.patient.settings") as kilit:
        yield kilit


@pytest.fixture
def fresh(elsewhere: Installation) -> Installation:
    """The same, with nothing in it."""
    with suppress(psycopg.OperationalError):  # the first to come finds no database yet
        elsewhere.ask("DROP SCHEMA public CASCADE")
        elsewhere.ask("CREATE SCHEMA public")
    shutil.rmtree(elsewhere.folder / "artifacts", ignore_errors=True)
    return elsewhere


@pytest.fixture(scope="module")
def made(quiet, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A good backup of it."""
    backup = tmp_path_factory.mktemp("backups") / "good"
    assert "Backed up" in quiet.must("backup", str(backup))
    return backup


@pytest.fixture
def backup(made: Path, tmp_path: Path) -> Path:
    """The same, for a test to spoil."""
    return Path(shutil.copytree(made, tmp_path / "backup"))


def test_what_is_restored_is_what_was_backed_up_row_by_row(quiet, backup: Path, fresh: Installation) -> None:
    output = fresh.must("restore", str(backup))

    assert "Restored" in output
    was, now = contents(quiet), contents(fresh)
    assert now.keys() == was.keys()
    assert {name: (was[name] - now[name], now[name] - was[name]) for name in was if was[name] != now[name]} == {}
    assert sum(was["triggers"].values()) > 30
    behind = {name: last for name, last in sequences(quiet).items() if sequences(fresh)[name] < last}
    assert behind == {}
    assert files(fresh) == files(quiet) != {}
    again = fresh.manage("restore", str(backup))
    assert again.returncode == 1
    assert "Restore into an empty database, or use --replace" in again.stderr
    assert contents(fresh) == was
    fresh.ask("DELETE FROM django_session")
    fresh.ask("CREATE TABLE of_a_later_version (id int)")
    fresh.must("restore", "--replace", str(backup))
    assert contents(fresh) == was


@pytest.mark.nightly
def test_a_backup_under_load_is_one_moment_and_its_jobs_end_after_the_restore(busy, fresh: Installation) -> None:
    assert_in_use(busy.refused)
    fresh.must("restore", str(busy.backup))

    assert torn(fresh) == WHOLE
    assert fresh.ask(LIVE) > [(0,)]
    assert dict(fresh.ask(HISTORY)).items() <= dict(busy.ask(HISTORY)).items()
    before = dict(fresh.ask(STATES))
    fresh.ask(
        "UPDATE pdfjobs_pdfjob SET lease_until = now() WHERE status = 'running'"
    )  # instead of waiting for the lease to lapse
    workers = fresh.workers()
    wait_until(lambda: fresh.ask(LIVE) == [(0,)])
    # The demo has a job that fails; of the others each is made.
    assert dict(fresh.ask(STATES)).get("failed", 0) == before.get("failed", 0)
    wait_until(lambda: torn(fresh) == WHOLE)
    workers.terminate()
    assert workers.wait(timeout=PATIENCE) == 0


def test_a_database_in_use_is_not_restored(quiet, backup: Path) -> None:
    with quiet.connect():
        assert_in_use(quiet.manage("restore", "--replace", str(backup)))


def assert_in_use(ended: subprocess.CompletedProcess[str]) -> None:
    assert ended.returncode == 1
    assert "stop web, workers and runners first" in ended.stderr


MESSAGES = {
    "dump": "database.dump missing or changed",
    "file": ".pdf missing or changed",
    "gone": ".pdf missing or changed",
    "manifest": "manifest.json is damaged",
    "kind": "rows: This field is required",
    "escape": "it lists files that do not belong in a backup",
    "newer": "This backup is from a newer version, Kilit 9999.0, and this is Kilit ",
    "unreleased": "This backup was made by Kilit 0.1.0 (unreleased, with the migration pdfjobs.0002_error_groups), and",
    "unfinished": "is not a backup: No such file or directory (manifest.json)",
}


@pytest.mark.parametrize("harm", MESSAGES)
@pytest.mark.by_day(3)
def test_a_damaged_backup_is_refused_with_its_problem(harm: str, backup: Path) -> None:
    spoil(backup, harm)

    with pytest.raises((BackupRefused, UnusableTables), match=re.escape(MESSAGES[harm])):
        verify(backup)


def spoil(backup: Path, harm: str) -> None:
    (some_file, *_) = backup.rglob("*.pdf")
    facts = json.loads((backup / NAME).read_text())
    match harm:
        case "dump":
            (backup / "database.dump").write_bytes((backup / "database.dump").read_bytes()[:-1] + b"!")
        case "file":
            some_file.write_bytes(some_file.read_bytes() + b" ")
        case "gone":
            some_file.unlink()
        case "manifest":
            (backup / NAME).write_text("{")
        case "kind":
            (backup / NAME).write_text(json.dumps({**facts, "rows": None}))
        case "newer":
            facts["migrations"].append("pdfjobs.9999_later")
            (backup / NAME).write_text(json.dumps({**facts, "version": "9999.0"}))
        case "unreleased":
            facts["migrations"].append("pdfjobs.0002_error_groups")
            (backup / NAME).write_text(json.dumps({**facts, "version": "0.1.0"}))
        case "unfinished":
            (backup / NAME).unlink()
        case "escape":
            facts["sums"]["artifacts/../../escape.pdf"] = "0"
            (backup / NAME).write_text(json.dumps(facts))


@pytest.mark.nightly  # by day, what is wrong with each is named
def test_a_bad_backup_is_refused_before_anything_is_touched(quiet, backup: Path) -> None:
    spoil(backup, "file")
    before = contents(quiet)

    restored = quiet.manage("restore", "--replace", str(backup))

    assert restored.returncode == 1
    assert MESSAGES["file"] in restored.stderr
    assert "Traceback" not in restored.stderr
    assert contents(quiet) == before


@pytest.mark.nightly  # by day, it is restored
def test_check_confirms_a_complete_backup(quiet, backup: Path) -> None:
    assert "is complete" in quiet.must("restore", "--check", str(backup))


@pytest.mark.nightly  # by day, what is restored
def test_what_was_there_comes_back_when_a_restore_fails_in_the_middle(quiet, backup: Path) -> None:
    facts = json.loads((backup / NAME).read_text())
    facts["rows"]["auth_user"] += 1  # so that the comparison at the end fails
    (backup / NAME).write_text(json.dumps(facts))
    before = contents(quiet)

    ended = quiet.manage("restore", "--replace", str(backup))

    assert ended.returncode == 1
    assert "auth_user" in ended.stderr
    assert contents(quiet) == before


@pytest.mark.nightly
def test_a_lost_file_fails_the_backup_and_its_job_expires_with_the_restore(
    quiet, fresh: Installation, tmp_path: Path
) -> None:
    ((key,), *_) = quiet.ask("SELECT artifact_key FROM pdfjobs_pdfjob WHERE status = 'succeeded'")
    place = quiet.folder / "artifacts" / key
    content = place.read_bytes()
    place.write_bytes(b"not what its row says")
    try:
        ended = quiet.manage("backup", str(tmp_path / "backup"))
    finally:
        place.write_bytes(content)

    assert ended.returncode == 1
    assert key in ended.stderr
    assert "1 PDF jobs were expired" in fresh.must("restore", str(tmp_path / "backup"))
    assert torn(fresh) == WHOLE
    expired = fresh.ask("SELECT message FROM lock_event WHERE to_state = 'expired' AND actor = 'restore'")
    assert expired == [("Its file is not in the restored backup.",)]


def test_errors_of_postgresql_are_shown_without_the_statement() -> None:
    stderr = "pg_restore: error: could not execute query: ERROR:  it is there\nCommand was: CREATE FUNCTION\n  $$;\n"

    assert error_line(stderr) == "pg_restore: error: could not execute query: ERROR:  it is there"
    assert error_line("") == ""


@pytest.mark.nightly  # it makes an installation
def test_an_empty_database_is_not_backed_up(fresh: Installation, tmp_path: Path) -> None:
    ended = fresh.manage("backup", str(tmp_path / "backup"))

    assert ended.returncode == 1
    assert "No backup was made: the database is empty" in ended.stderr
    assert list(tmp_path.iterdir()) == []
    assert "has no tables yet" in fresh.manage("alive").stderr


def test_a_backup_never_writes_over_another(quiet, tmp_path: Path) -> None:
    ended = quiet.manage("backup", str(tmp_path))

    assert ended.returncode == 1
    assert "already exists" in ended.stderr
