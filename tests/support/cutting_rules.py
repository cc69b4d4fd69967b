"""Rules other than the shipped ones."""

import json
from pathlib import Path
from typing import Any

from orchestrator.planning.rules import read_rules
from orchestrator.planning.rules_history import digest
from orchestrator.schemas.rules import Rules
from tests.support.commands import ROOT

SHIPPED = json.loads((ROOT / "orchestrator" / "rules.json").read_text())

PAGE = "/admin/orchestrator/rulesversion/"

PRICES = {
    "currency": "TRY",
    "vatPercent": 20,
    "boardPerM2": {"*": 450},
    "edgePerMetre": {"*": 12.5},
    "wastePercent": 10,
}
COMPANY = {"name": "Gümüşçınar Mobilya", "address": "Organize Sanayi 5. Cadde 12, Bursa", "offerValidDays": 10}

SAWS = [
    {"name": "Small", "longestMm": 2500, "widestMm": 1900},
    {"name": "Large", "longestMm": 3100, "materials": ["MAT-01", "MAT-02"]},
    {"name": "By hand", "byHand": True, "materials": ["HPL"]},
]


def rules_with(**changes: Any) -> Rules:
    """Return the shipped rules with changes."""
    return read_rules(json.dumps({**SHIPPED, **changes}).encode())


def text_with(**entries: Any) -> str:
    return json.dumps({**SHIPPED, **entries}, ensure_ascii=False)


def trims(**more: int) -> dict[str, int]:
    return {**SHIPPED["trimByThickness"], **{name.strip("_"): trim for name, trim in more.items()}}


def sent(path: Path, text: str, button: str = "check", **more: str) -> dict[str, str]:
    return {"content": text, "based_on": digest(path.read_bytes()), "reason": "new board", button: "1", **more}
