"""What `make up` starts on a small server."""

from pathlib import Path

import pytest
from django.test import override_settings

from config.local.stack import Stack, procfile
from config.management.commands import up
from tests.support.commands import ROOT

OWN_FLOOR = {"SMALL": True, "PRODUCTION": True, "FLOOR_IS_HERE": True, "APPS_OFF": ()}


@pytest.fixture
def prepare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Return a function that prepares a stack without a database, and returns the names of its services."""
    monkeypatch.setattr(up, "call_command", lambda *_, **__: None)
    monkeypatch.setattr(up, "connection", type("Unused", (), {"close": staticmethod(lambda: None)}))

    def names(**changes: object) -> list[str]:
        stack = Stack(ROOT, lock=tmp_path / "up.pid")
        with override_settings(**OWN_FLOOR | changes):
            up.Command().prepare(stack)
        return stack.names()

    return names


def test_a_small_server_runs_everything_that_its_orders_need(prepare) -> None:
    """Only the runner plans boards and starts OptiPlanning."""
    services = [name for name, _command in procfile(ROOT)]

    assert prepare() == services
    assert "runner" in services


@pytest.mark.parametrize("changes", [{"FLOOR_IS_HERE": False}, {"APPS_OFF": ("orchestrator",)}])
def test_the_runner_is_left_out_where_it_has_nothing_to_do(prepare, changes: dict[str, object]) -> None:
    assert "runner" not in prepare(**changes)
