"""Reads an order from a sheet: our own layout, or a customer's list."""

from orchestrator.schemas.rules import Rules
from orchestrator.sheets.sheet_order import SheetDefaults, SheetOrder

NO_DEFAULTS = SheetDefaults()


def read_sheet(
    name: str, content: bytes, rules: Rules, *, defaults: SheetDefaults = NO_DEFAULTS, sheet: str = ""
) -> SheetOrder:
    """Read an XLSX or CSV file; SheetError if it cannot be read at all.

    `faults` holds everything that keeps it from being an order, also what `read_order` finds.
    """
    raise NotImplementedError
