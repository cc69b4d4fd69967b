"""Edge bands as people write them, as the names that the rules have."""

import re
from decimal import Decimal

from django.utils.translation import gettext as _

from kilit.csv.numbers import read_number
from orchestrator.schemas.orders import plain
from orchestrator.schemas.rules import Rules
from orchestrator.sheets.grid import CellError, Unreadable, Value
from orchestrator.sheets.headings import fold

DASHES = frozenset(["", "-", "–", "—", "--"])
NONE = frozenset(["0", "yok", "hayir", "false", "yanlis", "no", "none", "bant yok"])
LONGEST = 64
THICKNESS = re.compile(r"([0-9]+(?:[.,][0-9]+)?)\s*mm\b", re.IGNORECASE)


class Marked:
    """The cell says that there is an edge, but not which: the order's."""


MARKED = Marked()


def read_edge(value: Value | None, rules: Rules) -> str | Marked | None:
    """Return a name of the rules, MARKED, or None; ValueError says what is wrong."""
    if isinstance(value, Unreadable):
        raise CellError(value.message)
    if value is True:
        return MARKED
    text = plain(value) if isinstance(value, Decimal) else value or ""
    if len(text) > LONGEST:
        raise CellError(_("At most %(most)s characters.") % {"most": LONGEST})
    if text in DASHES or fold(text) in NONE:
        return None
    # Excel makes the number 40 of the name 040.
    names = {name.lstrip("0"): name for name in rules.edge_mapping if name.isdecimal()}
    names |= {fold(name): name for name in rules.edge_mapping}
    if fold(text) in names:
        return names[fold(text)]
    if match := THICKNESS.search(text):
        return _by_thickness(read_number(match[1]), rules)
    return _read_bare(text, rules)


def _read_bare(text: str, rules: Rules) -> str | Marked | None:
    try:
        number = read_number(text)
    except ValueError:
        return MARKED  # an x, a tick, a colour
    if number == 0:
        return None
    # Lists mark edges with 1. A band of 1 mm is written 1MM.
    return MARKED if number == 1 else _by_thickness(number, rules)


def _by_thickness(thickness: Decimal, rules: Rules) -> str:
    for name, mapped in rules.edge_mapping.items():
        if mapped == thickness:
            return name
    names = ", ".join(rules.edge_mapping)
    message = _("The rules have no edge band of %(thickness)s mm. They have: %(known)s.")
    raise CellError(message % {"thickness": plain(thickness), "known": names})
