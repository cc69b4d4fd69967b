"""What `make up` shows: steps with their times, and only the warnings of its services."""

import json
import logging
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest

from config.local.screen import Screen, ServiceLogs


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    return Terminal()


@pytest.fixture
def logs(tmp_path: Path) -> Iterator[ServiceLogs]:
    opened = ServiceLogs(tmp_path / "logs" / "up.log", Screen(StringIO()))
    yield opened
    opened.close()


def shown(logs: ServiceLogs) -> str:
    text = logs.screen.out
    assert isinstance(text, StringIO)
    return text.getvalue()


def test_a_step_becomes_one_line_with_its_time(terminal: Terminal) -> None:
    with Screen(terminal).step("Migrating") as step:
        step.progress = "3 of 3 migrations"

    last = terminal.getvalue().rpartition("\r")[2]
    assert "✓" in last
    assert "Migrating" in last
    assert "0.0 s" in last
    assert last.endswith("3 of 3 migrations\n")


def test_a_step_that_fails_is_marked() -> None:
    out = StringIO()

    with pytest.raises(ValueError, match="no"), Screen(out).step("Migrating"):
        raise ValueError("no")

    assert "✗ Migrating" in out.getvalue()


def test_a_message_during_a_step_has_its_own_line(terminal: Terminal) -> None:
    screen = Screen(terminal)

    with screen.step("Migrating"):
        screen.line("web error: no memory")

    assert "\x1b[Kweb error: no memory\n" in terminal.getvalue()


def test_there_are_no_colours_when_the_terminal_or_the_user_has_none(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert Screen(terminal).paint("x", "red") == "\x1b[31mx\x1b[0m"

    assert Screen(StringIO()).paint("x", "red") == "x"
    monkeypatch.setenv("NO_COLOR", "1")
    assert Screen(terminal).paint("x", "red") == "x"
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert Screen(terminal).paint("x", "red") == "x"


def test_warnings_are_shown_and_everything_is_stored(logs: ServiceLogs) -> None:
    request = json.dumps({"level": "INFO", "logger": "kilit.request", "message": "request", "path": "/admin/"})
    trace = "Traceback …\n  File …\nValueError: boom"
    failed = json.dumps({"level": "ERROR", "message": "failed", "exc_info": trace})

    logs.take("web", request, is_shown=True)
    logs.take("worker", failed, is_shown=True)
    logs.take("web", "[2026-11-17 08:00:00 +0000] [12] [INFO] Listening", is_shown=True)
    logs.take("web", "[2026-11-17 08:00:00 +0000] [12] [WARNING] Slow", is_shown=True)
    logs.take("simulator", "plan-1.xml", is_shown=False)
    logs.take("web", "ImportError: no module", is_shown=True)

    lines = [line.partition(" ")[2] for line in shown(logs).splitlines()]
    assert lines == [
        "worker error: failed (ValueError: boom)",
        "web warning: Slow",
        "web error: ImportError: no module",
    ]
    assert logs.file.read_text().splitlines()[:2] == [request, failed]
    assert "plan-1.xml" in logs.file.read_text()


def test_a_message_that_repeats_is_shown_once_a_minute(logs: ServiceLogs, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr("config.local.screen.time.monotonic", lambda: now)

    for _ in range(3):
        logs.take("web", "no database", is_shown=True)
    assert shown(logs).count("no database") == 1

    now += 61
    logs.take("web", "no database", is_shown=True)
    assert shown(logs).count("no database") == 2


def test_what_this_process_logs_is_shown_the_same_way(logs: ServiceLogs, monkeypatch: pytest.MonkeyPatch) -> None:
    handler = logging.StreamHandler()
    monkeypatch.setattr(logging.getLogger(), "handlers", [handler])

    logs.take_over()
    handler.handle(logging.makeLogRecord({"msg": json.dumps({"level": "WARNING", "message": "slow"})}))

    assert "up warning: slow" in shown(logs)
