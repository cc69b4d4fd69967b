"""Rules other than the shipped ones."""

import json
from typing import Any

from orchestrator.planning.rules import read_rules
from orchestrator.schemas.rules import Rules
from tests.support.commands import ROOT

SHIPPED = json.loads((ROOT / "orchestrator" / "rules.json").read_text())

PRICES = {
    "currency": "TRY",
    "vatPercent": 20,
    "boardPerM2": {"*": 450},
    "edgePerMetre": {"*": 12.5},
    "wastePercent": 10,
}
COMPANY = {"name": "Gümüşçınar Mobilya", "address": "Organize Sanayi 5. Cadde 12, Bursa", "offerValidDays": 10}


def rules_with(**changes: Any) -> Rules:
    """Return the shipped rules with changes."""
    return read_rules(json.dumps({**SHIPPED, **changes}).encode())
