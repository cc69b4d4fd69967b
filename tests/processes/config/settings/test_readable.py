"""Bad configuration ends in one readable line, not in a traceback."""

import socket
from pathlib import Path

import psycopg
import pytest
from django.db import OperationalError

from kilit.lock.outages import is_outage
from tests.support.commands import manage, run_python

PRODUCTION = {"KILIT_PRODUCTION": "true", "SECRET_KEY": "x" * 60, "ALLOWED_HOSTS": "kilit.example.com"}

BAD = {
    "nonsense port": ({"PORT": "eighty"}, "PORT='eighty' is not a whole number from 1 to 65535."),
    "nonsense concurrency": ({"WEB_CONCURRENCY": "abc"}, "WEB_CONCURRENCY='abc' is not a whole number from 1 to 256."),
    "nonsense flag": ({"KILIT_DEBUG": "maybe"}, "KILIT_DEBUG='maybe' is not a boolean: use true or false."),
    "nonsense level": ({"KILIT_LOG_LEVEL": "loud"}, "KILIT_LOG_LEVEL='LOUD' is not one of DEBUG, INFO"),
    "nonsense database": ({"DATABASE_URL": "oracle"}, "DATABASE_URL is not of the form postgres://"),
    "missing secret": ({**PRODUCTION, "SECRET_KEY": ""}, "SECRET_KEY is required, but not set."),
    "missing hosts": ({**PRODUCTION, "ALLOWED_HOSTS": ""}, "ALLOWED_HOSTS is required, but not set."),
    "public secrets": (
        {
            **PRODUCTION,
            "SECRET_KEY": "put-at-least-fifty-random-characters-here-and-keep-them-secret-0123456789",
            "KILIT_CREDENTIAL_KEYS": "put-a-third-random-value-here,older",
        },
        "SECRET_KEY and KILIT_CREDENTIAL_KEYS still have the value of .env.production.example",
    ),
    "unreachable database": (
        {"DATABASE_URL": "postgres://kilit:s3cret@127.0.0.1:1/kilit"},
        "the database is not reachable: connection failed",
    ),
}
AS_OTHERS = {"nonsense concurrency", "nonsense flag", "nonsense level", "missing hosts"}  # for the night
CASES = [pytest.param(name, marks=[pytest.mark.nightly] * (name in AS_OTHERS)) for name in BAD]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.by_day(3)
def test_a_command_says_in_one_line_what_is_wrong(case: str, tmp_path: Path) -> None:
    variables, sentence = BAD[case]

    ended = manage("migrate", "--check", **{"KILIT_VAR": str(tmp_path), **variables})

    assert ended.returncode == 1
    assert ended.stderr.startswith("kilit: ")
    assert sentence in ended.stderr
    assert len(ended.stderr.strip().splitlines()) == 1
    assert "s3cret" not in ended.stderr


SERVED_BY = {
    "wsgi": ["-c", "import config.web.wsgi"],
    "gunicorn": ["-m", "gunicorn", "config.web.wsgi", "--config", "config/web/gunicorn.py"],
}


@pytest.mark.parametrize("server", SERVED_BY)
@pytest.mark.parametrize("case", ["nonsense port", pytest.param("missing secret", marks=pytest.mark.nightly)])
def test_the_web_server_does_too(case: str, server: str, tmp_path: Path) -> None:
    variables, sentence = BAD[case]

    ended = run_python(*SERVED_BY[server], **{"KILIT_VAR": str(tmp_path), **variables})

    assert ended.returncode == 1
    assert ended.stderr.strip().splitlines() == [f"kilit: {sentence}"]


def test_a_data_folder_that_cannot_be_created_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    ended = manage("check", KILIT_VAR=str(tmp_path / "file" / "var"))

    assert ended.returncode == 1
    assert ended.stderr.strip() == f"kilit: KILIT_VAR={tmp_path}/file/var is not writable: Not a directory."


def test_an_error_of_a_statement_is_no_unreachable_database() -> None:
    timed_out, refused = OperationalError("canceling statement"), OperationalError("connection refused")
    timed_out.__cause__ = psycopg.errors.QueryCanceled("canceling statement")

    assert not is_outage(timed_out)
    assert is_outage(refused)


def test_help_and_check_start_nothing_and_make_the_local_secret_key_once_and_private(tmp_path: Path) -> None:
    assert manage("help", KILIT_VAR=str(tmp_path)).returncode == 0
    first = (tmp_path / "secret_key").read_text()

    assert manage("check", KILIT_VAR=str(tmp_path)).returncode == 0

    assert [path.name for path in tmp_path.iterdir()] == ["secret_key"]
    assert (tmp_path / "secret_key").read_text() == first
    assert len(first.strip()) >= 50
    assert (tmp_path / "secret_key").stat().st_mode & 0o777 == 0o600


def test_production_makes_no_secret_key_of_its_own(tmp_path: Path) -> None:
    manage("check", KILIT_VAR=str(tmp_path), **PRODUCTION)

    assert list(tmp_path.iterdir()) == []


def test_a_command_without_tables_names_what_may_be_another(tmp_path: Path) -> None:
    ended = manage("demo", "--json", KILIT_VAR=str(tmp_path))

    assert ended.returncode == 1
    advice = "does not exist: run manage.py migrate, or is KILIT_VAR or DATABASE_URL another one?"
    assert ended.stderr.startswith('kilit: relation "')
    assert ended.stderr.endswith(f'" {advice}\n')


def test_on_all_addresses_those_of_this_machine_are_accepted(tmp_path: Path) -> None:
    code = "from config.settings.server import ALLOWED_HOSTS; print(*ALLOWED_HOSTS)"
    ended, alone = (
        run_python("-c", code, HOST=host, KILIT_VAR=str(tmp_path), SECRET_KEY="x") for host in ("::", "127.0.0.1")
    )

    assert socket.gethostname().lower() in ended.stdout.split()
    assert socket.gethostname().lower() not in alone.stdout.split()
