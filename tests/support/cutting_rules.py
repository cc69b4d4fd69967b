"""Rules other than the shipped ones."""

import json
from typing import Any

from orchestrator.planning.rules import read_rules
from orchestrator.schemas.rules import Rules
from tests.support.commands import ROOT

SHIPPED = json.loads((ROOT / "orchestrator" / "rules.json").read_text())


def rules_with(**changes: Any) -> Rules:
    """Return the shipped rules with changes."""
    return read_rules(json.dumps({**SHIPPED, **changes}).encode())
