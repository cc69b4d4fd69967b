"""A database or backup of an unreleased version is refused in one sentence by every process that is started on it."""

import json
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kilit import __version__
from kilit.backup.manifest import NAME
from tests.support.commands import free_port, manage
from tests.support.installation import Installation, installation
from tests.support.installation_contents import contents
from tests.support.waiting import PATIENCE, wait_until

# In one process: each start takes more than a second.
MAKE = """
from django.core.management import call_command
call_command("migrate", verbosity=0)
call_command("backup", {!r})
"""
# Some tables were made by a migration that was later merged into the first one.
MERGE = (
    "INSERT INTO django_migrations (app, name, applied) VALUES ('outbox', '0002_old', now())",
    "COMMENT ON TABLE django_migrations IS 'Kilit 0.1.0'",
)
SENTENCE = (
    "was made by Kilit 0.1.0 (unreleased, with the migration outbox.0002_old), "
    f"and this is Kilit {__version__}, which cannot upgrade it: start with an empty database "
)


@pytest.fixture(scope="module")
def kilit(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    with installation() as kilit:
        kilit.backup = tmp_path_factory.mktemp("backups") / "old"
        kilit.must("shell", "--no-imports", "-c", MAKE.format(str(kilit.backup)))
        for statement in MERGE:
            kilit.ask(statement)
        yield kilit


@pytest.mark.parametrize(
    "command",
    [
        ("runworkers",),
        pytest.param(("migrate",), marks=pytest.mark.nightly),
        pytest.param(("orchestrator_tick", "--watch"), marks=pytest.mark.nightly),
        pytest.param(("backup", "never-made"), marks=pytest.mark.nightly),
    ],
)
@pytest.mark.nightly  # it makes an installation
def test_a_command_ends_with_one_sentence(kilit: Installation, command: tuple[str, ...]) -> None:
    before = contents(kilit)

    ended = kilit.manage(*command)

    (line,) = ended.stderr.strip().splitlines()
    assert ended.returncode == 1
    assert f"This database {SENTENCE}" in line
    assert contents(kilit) == before


@pytest.mark.nightly
def test_up_ends_with_one_sentence_and_leaves_nothing_running(kilit: Installation) -> None:
    variables = {"KILIT_VAR": str(kilit.folder), "SECRET_KEY": "tests", "PORT": str(free_port())}

    ended = manage("up", **variables)

    assert ended.returncode == 1
    assert f"This database {SENTENCE}" in ended.stderr.strip().splitlines()[-1]
    assert "Traceback" not in ended.stderr + ended.stdout
    assert not (kilit.folder / "demo.json").exists()


@pytest.mark.nightly  # by day, one command says it
def test_restore_refuses_its_backup_with_one_sentence(kilit: Installation, tmp_path: Path) -> None:
    facts = json.loads((kilit.backup / NAME).read_text())
    facts["migrations"].append("outbox.0002_old")
    (kilit.backup / NAME).write_text(json.dumps({**facts, "version": "0.1.0"}))
    before = contents(kilit)

    ended = kilit.manage("restore", "--replace", str(kilit.backup))

    (line,) = ended.stderr.strip().splitlines()
    assert ended.returncode == 1
    assert f"This backup {SENTENCE}" in line
    assert contents(kilit) == before


@pytest.mark.nightly  # it makes an installation
def test_the_web_server_starts_and_says_why_it_is_not_ready(kilit: Installation) -> None:
    port = free_port()
    variables = {"PORT": str(port), "WEB_CONCURRENCY": "1"}
    gunicorn = [sys.executable, "-m", "gunicorn", "config.web.wsgi", "--config", "config/web/gunicorn.py"]

    web = kilit.start(*gunicorn, variables=variables)

    status, body = wait_until(lambda: readiness(port))
    web.terminate()
    web.wait(PATIENCE)
    assert status == 503
    assert body["checks"]["migrations"].startswith(f"This database {SENTENCE}")
    assert "Traceback" not in kilit.log.read_text()


def readiness(port: int) -> tuple[int, dict[str, Any]] | None:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=PATIENCE) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)
    except OSError:
        return None  # not listening yet
