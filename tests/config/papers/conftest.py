"""People, services, a living worker, and rules of each test's own."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from orchestrator.cutting import solving
from tests.support.cutting_rules import SHIPPED
from tests.support.fixtures.cutting_jobs import at_rest_at_once, customer, floor, make_api
from tests.support.fixtures.pdf_jobs import _own_store, worker_lives

__all__ = ["_own_store", "at_rest_at_once", "customer", "floor", "make_api", "worker_lives"]


@pytest.fixture
def rules(settings: Any, tmp_path: Path) -> Callable[..., None]:
    """Change the rules in force."""

    def change(**changes: Any) -> None:
        settings.OPTI_RULES = tmp_path / "rules.json"
        settings.OPTI_RULES.write_text(json.dumps(SHIPPED | changes))

    return change


@pytest.fixture(autouse=True)
def _no_optimiser(request: Any, monkeypatch: Any, settings: Any, tmp_path: Path) -> None:
    """Let offers add wastePercent, unless a test wants plans; none is kept of another test."""
    settings.KILIT_VAR = tmp_path / "var"
    if "optimiser" not in request.fixturenames:
        monkeypatch.setattr(solving, "ENGINE", "no_such_solver")


@pytest.fixture
def optimiser() -> None:
    """Plan orders."""
    if reason := solving.missing():
        pytest.skip(reason)
