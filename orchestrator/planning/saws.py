"""Which of several saws cuts a job: the one that people named, or the first in the rules that fits.

The limits of a saw hold always. Its materials hold only where the rules choose: people may know better.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from django.conf import settings
from django.utils.translation import gettext_noop

from kilit.sentences import joined
from orchestrator import sentences
from orchestrator.errors import Code, JobError
from orchestrator.planning.fitting import refuse_oversized
from orchestrator.schemas.orders import MOST_PIECES, InvalidOrder, Order, plain
from orchestrator.schemas.rules import Rules, Saw
from orchestrator.states import Mode

Sides = tuple[Decimal, Decimal]
NO_SAWS = gettext_noop("The rules list no saws.")
NO_FOLDER = gettext_noop("This saw has no folder: give it one in KILIT_SAWS, or let people feed it.")


@dataclass(frozen=True)
class Boards:
    """What a job's saw has to take: the largest sides of its plates, the thickest one, and all materials."""

    sides: tuple[Decimal, ...]
    materials: frozenset[str]

    @classmethod
    def of(cls, order: Order, rules: Rules, planned: Iterable[Sides] = ()) -> "Boards":
        plate = rules.plate_of(order)
        plates = [*planned, *([(plate.width_mm, plate.height_mm)] if plate else [])]
        length, width = (max((side(plate) for plate in plates), default=Decimal(0)) for side in (max, min))
        thickness = max(part.thickness_mm for part in order.parts)
        return cls((length, width, thickness), frozenset(part.material_code for part in order.parts))

    @property
    def words(self) -> dict[str, str]:
        return {"size": size_text(self.sides), "materials": ", ".join(sorted(self.materials))}


def size_text(sides: Iterable[Decimal | None]) -> str:
    return " × ".join("∞" if side is None else plain(side) for side in sides) + " mm"


def saw_for(boards: Boards, rules: Rules, *, chosen: str = "") -> Saw | None:
    """Return the saw that cuts these boards, or None if there are not several; JobError if none is right."""
    if chosen:
        saws = [saw for saw in rules.saws if saw.name == chosen]
        if not saws:
            raise JobError(Code.NO_SAW, sentences.NO_SUCH_SAW % {"saw": chosen})
    elif not (saws := rules.saws):
        return None
    reasons = {saw.name: why_not(saw, boards, rules, is_chosen=bool(chosen)) for saw in saws}
    for saw in saws:
        if not reasons[saw.name]:
            return saw
    raise JobError(Code.NO_SAW, joined(sentences.NO_SAW_FITS % boards.words, *reasons.values()))


def why_not(saw: Saw, boards: Boards, rules: Rules, *, is_chosen: bool) -> str:
    """Return why a saw cannot cut these boards, or an empty text."""
    if any(most is not None and side > most for side, most in zip(boards.sides, saw.limits, strict=True)):
        return sentences.SAW_TAKES % {"saw": saw.name, "size": size_text(saw.limits)}
    if not is_chosen and saw.materials and not boards.materials <= {*saw.materials}:
        return sentences.SAW_IS_FOR % {"saw": saw.name, "materials": ", ".join(saw.materials)}
    return sentences.SAW_WITHOUT_FOLDER % {"saw": saw.name} if saw.name in without_folder(rules) else ""


def without_folder(rules: Rules) -> list[str]:
    """Return the saws that have no folder on this machine: the first without its own has that of KILIT_SAW."""
    return _not_in_settings(rules)[1:] if settings.FLOOR_IS_HERE else []


def has_folder(name: str, rules: Rules) -> bool:
    """Return whether the files of a saw have a place here; the rules may no longer name it, or leave it to people."""
    return not name or name in settings.SAW_FOLDERS or name in _not_in_settings(rules)[:1]


def _not_in_settings(rules: Rules) -> list[str]:
    return [saw.name for saw in rules.saws if not saw.by_hand and saw.name not in settings.SAW_FOLDERS]


def refuse_uncuttable(order: Order, rules: Rules) -> None:
    """Raise InvalidOrder for an unknown saw, more pieces than mode D plans, or parts larger than the plate."""
    names = [saw.name for saw in rules.saws]
    if order.saw and order.saw not in names:
        message = f"Expected one of {', '.join(names)}." if names else NO_SAWS
        raise InvalidOrder([{"field": "saw", "message": message}], 1)
    if order.opti_mode == Mode.D and (pieces := sum(part.quantity for part in order.parts)) > MOST_PIECES:
        message = sentences.TOO_MANY_PIECES % {"pieces": pieces, "most": MOST_PIECES}
        raise InvalidOrder([{"field": "parts", "message": message}], 1)
    refuse_oversized(order, rules)
