"""Numbers as people type them, with a comma or a point for the decimals."""

import re
from decimal import Decimal

from django.utils.translation import gettext as _

MOST_DIGITS = 28  # the precision of decimal arithmetic
PLAIN = re.compile("[+-]?[0-9]+([.,][0-9]+)?")
GROUPED = re.compile(
    "[+-]?[0-9]{1,3}(?P<group>[., '\u2019\u00a0\u202f])[0-9]{3}((?P=group)[0-9]{3})*((?!(?P=group))[.,][0-9]+)?"
)
AMBIGUOUS = re.compile("[+-]?[1-9][0-9]{0,2}[.,][0-9]{3}")


def read_number(text: str) -> Decimal:
    """Read a number; ValueError says what is wrong, for the user.

    `120,5`, `120.5`, `1.205,50`, `1,205.50` and `1 205,5` are numbers. `1.205` could be 1205 or a little more than 1,
    so it is refused; `0.125` could not.
    """
    typed = text.strip()
    if len(typed) > MOST_DIGITS:
        raise ValueError(_("Not a number."))
    if AMBIGUOUS.fullmatch(typed):
        whole, decimal = re.sub("[.,]", "", typed), typed.replace(",", ".")
        message = _("Ambiguous: %(typed)s could be %(whole)s or %(decimal)s. Write %(whole)s or %(decimal)s0.")
        raise ValueError(message % {"typed": typed, "whole": whole, "decimal": decimal})
    if PLAIN.fullmatch(typed):
        return Decimal(typed.replace(",", "."))
    grouped = GROUPED.fullmatch(typed)
    rest = typed.replace(grouped["group"], "") if grouped else ""
    if not PLAIN.fullmatch(rest):
        raise ValueError(_("Not a number."))
    return Decimal(rest.replace(",", "."))
