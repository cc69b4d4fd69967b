"""The errors of an order in the reader's language; the API's are English."""

import re
from collections.abc import Callable

from django.utils.formats import number_format
from django.utils.translation import gettext as _

from orchestrator.schemas.orders import LARGEST_MM

Groups = dict[str, str]


def _size(found: Groups) -> str:
    return _("Expected a size above 0, up to %(most)s %(unit)s.") % found


# By the texts of kilit.api.input_model, orchestrator.schemas.orders and orchestrator.planning.fitting.
PATTERNS: dict[str, Callable[[Groups], str]] = {
    r"This field is required\b.*": lambda _found: _("Fill this in."),
    r"At most (?P<most>\d+) characters\.": lambda found: _("At most %(most)s characters.") % found,
    r"At most (?P<most>\d+) digits\.": lambda found: _("At most %(most)s digits.") % found,
    r"Expected one of (?P<words>.+)\.": lambda found: _("Expected one of %(words)s.") % found,
    r"Expected at least 1, got 0\.": lambda _found: _("The order has no parts."),
    r"Expected at most (?P<most>[\d,]+), got (?P<given>[\d,]+)\.": lambda found: (
        _("At most %(most)s parts; these are %(given)s.") % found
    ),
    r"Expected a whole number from (?P<least>\d+) to (?P<most>[\d,]+)\.": lambda found: (
        _("Expected a whole number from %(least)s to %(most)s.") % found
    ),
    r"Expected a size above 0, up to (?P<most>[\d,]+) (?P<unit>\w+)\.": _size,
    r"'(?P<id>.*)' is the id of an earlier part\.": lambda found: _("“%(id)s” is the id of an earlier part.") % found,
    r"Part .*, (?P<size>\S+ × \S+ mm), is larger than the plate of (?P<plate>.+) less (?P<trim>\S+) mm of trim\.": (
        lambda found: _("%(size)s is larger than the plate of %(plate)s less %(trim)s mm of trim.") % found
    ),
    r"Part .*, (?P<size>\S+ × \S+ mm), is larger than the plate of (?P<plate>.+) less (?P<trim>\S+) mm of trim, .+": (
        lambda found: (
            _(
                "%(size)s is larger than the plate of %(plate)s less %(trim)s mm of trim, and its grain does not allow "
                "it to be turned."
            )
            % found
        )
    ),
}


def fault_text(message: str, *, unit: str) -> str:
    """Return an error of `read_order` for people; sizes in the unit in which they were typed."""
    for pattern, translate in PATTERNS.items():
        if found := re.fullmatch(pattern, message):
            groups = found.groupdict()
            if groups.get("unit") == "cm" and unit == "mm":
                groups |= {"most": number_format(LARGEST_MM, force_grouping=True), "unit": unit}
            return translate(groups)
    return _(message)
