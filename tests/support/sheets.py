"""Plans and the sheets written from them."""

from pathlib import Path
from typing import Any

from orchestrator.orders.order import read_order
from orchestrator.planning.plan import Plan, transform
from orchestrator.planning.rules import current_rules
from tests.support.commands import ROOT
from tests.support.cutting_jobs import GOVDE, order_body

TEMPLATE = ROOT / "orchestrator" / "planning" / "excel" / "Excel_sablon.xlsx"


def plan_of(*parts: dict[str, Any]) -> Plan:
    return transform(read_order(order_body(parts=list(parts)), default_mode="C"), current_rules())


def coloured(*colours: str, **changes: Any) -> Plan:
    return plan_of(*({**GOVDE, "id": str(n), "color": colour, **changes} for n, colour in enumerate(colours)))


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())
