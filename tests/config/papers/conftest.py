"""People, services, a living worker, and rules of each test's own."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.cutting_rules import SHIPPED
from tests.support.fixtures.cutting_jobs import customer, make_api
from tests.support.fixtures.pdf_jobs import _own_store, worker_lives

__all__ = ["_own_store", "customer", "make_api", "worker_lives"]


@pytest.fixture
def rules(settings: Any, tmp_path: Path) -> Callable[..., None]:
    """Change the rules in force."""

    def change(**changes: Any) -> None:
        settings.OPTI_RULES = tmp_path / "rules.json"
        settings.OPTI_RULES.write_text(json.dumps(SHIPPED | changes))

    return change
