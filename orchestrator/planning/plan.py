"""Turns an order into the cutting plan: OptiPlanning's rows in batches, with millimetres, trim and edges."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

from django.utils.translation import gettext, gettext_lazy

from orchestrator import sentences
from orchestrator.errors import Code, JobError
from orchestrator.planning.excel.template import check_template
from orchestrator.planning.fitting import fit_warning
from orchestrator.schemas.orders import CENTS, EDGES, Order, Part, PlateSize, plain
from orchestrator.schemas.rules import Rules


@dataclass(frozen=True)
class Row:
    """One line of a sheet, in the order of the template's tags."""

    material_code: str
    length_mm: Decimal
    width_mm: Decimal
    quantity: int
    grain: int
    idesc: str
    edge_up: Decimal | None
    edge_lo: Decimal | None
    edge_sx: Decimal | None
    edge_dx: Decimal | None
    iidesc: str | None
    desc1: str | None


@dataclass(frozen=True)
class Batch:
    """The rows of one file: one part type, one colour, one thickness."""

    part_type: str
    color: str
    thickness_mm: Decimal
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Plan:
    plate: PlateSize
    batches: tuple[Batch, ...]
    reset_parts: tuple[str, ...]  # ids of backing parts with edges removed
    warning: Mapping[str, object]  # columns of the job: which parts are larger than the plate


@dataclass(frozen=True)
class MissingRule:
    section: str  # as rules.json calls it
    entry: str = ""  # a thickness, an edge or a grain; empty for the default plate

    @property
    def words(self) -> str:
        return str(MISSING[self.section]) % {"entry": self.entry}


MISSING = {
    "trimByThickness": gettext_lazy("trim for %(entry)s mm"),
    "backingThicknesses": gettext_lazy("backing of %(entry)s mm"),
    "edgeMapping": gettext_lazy("edge “%(entry)s”"),
    "grainMapping": gettext_lazy("grain %(entry)s"),
    "defaultPlateSize": gettext_lazy("a default plate size"),
}


def add_text(missing: Sequence[MissingRule]) -> str:
    """Return what to add to the rules, as the text of a button."""
    first = {"what": missing[0].words, "number": len(missing) - 1}
    if len(missing) == 1:
        return gettext("Rules: add %(what)s") % first
    return gettext("Rules: add %(what)s and %(number)s more") % first


def transform(order: Order, rules: Rules, *, template: Path | None = None) -> Plan:
    """Check the plate size, the template and each part, in this order, and return the rows in batches.

    The first error is raised and names its part. Nothing is merged: two equal parts are two rows.
    """
    plate = rules.plate_of(order)
    if plate is None:
        raise JobError(Code.PLATE_SIZE_MISSING, sentences.NO_PLATE)
    if template is not None:
        check_template(template)
    rows: dict[tuple[str, str, Decimal], list[Row]] = defaultdict(list)
    for part in order.parts:
        rows[part.part_type, part.color, part.thickness_mm].append(_row(part, rules))
    batches = tuple(Batch(*key, rows=tuple(batch_rows)) for key, batch_rows in rows.items())
    reset = tuple(part.id for part in order.parts if part.is_backing and _named_bands(part, rules))
    return Plan(plate, batches, reset, fit_warning(order, rules))


def _row(part: Part, rules: Rules) -> Row:
    if gap := next(_gaps(part, rules), None):
        _missing, code, message = gap
        raise JobError(code, sentences.OF_PART % {"part": part.id, "problem": message})
    trim = rules.trim_by_thickness[part.thickness_mm].quantize(CENTS, ROUND_HALF_UP)
    bands = {side: rules.edge_mapping[name] for side, name in banded_sides(part, rules).items()}
    return Row(
        material_code=part.material_code,
        length_mm=rules.millimetres(part.length_cm),
        width_mm=rules.millimetres(part.width_cm),
        quantity=part.quantity,
        grain=rules.grain_mapping[str(part.grain)],
        idesc=f"{part.part_type}_{part.id}_TRIM_{trim}",
        **{side: bands.get(side) for side in EDGES},
        iidesc=part.drill_code,
        desc1=part.desc1,
    )


SIDES = {
    "edge_up": gettext_lazy("Edge top"),
    "edge_lo": gettext_lazy("Edge bottom"),
    "edge_sx": gettext_lazy("Edge left"),
    "edge_dx": gettext_lazy("Edge right"),
}


def banded_sides(part: Part, rules: Rules) -> dict[str, str]:
    """Return the sides that get a band, and its name. A backing gets no band, even if one was ordered."""
    return {} if part.is_backing else _named_bands(part, rules)


def _named_bands(part: Part, rules: Rules) -> dict[str, str]:
    # A name that the rules do not know (any more) is a band, too.
    return {side: name for side, name in part.edges.items() if rules.edge_mapping.get(name, name) is not None}


def missing_rules(order: Order, rules: Rules) -> list[MissingRule]:
    """Return all entries that the rules lack for an order; a job's error names only the first."""
    missing = [] if rules.plate_of(order) else [MissingRule("defaultPlateSize")]
    missing += [entry for part in order.parts for entry, _code, _message in _gaps(part, rules)]
    return list(dict.fromkeys(missing))


def _gaps(part: Part, rules: Rules) -> Iterator[tuple[MissingRule, Code, str]]:
    thickness = plain(part.thickness_mm)
    if part.is_backing and part.thickness_mm not in rules.backing_thicknesses:
        thicknesses = ", ".join(map(plain, sorted(rules.backing_thicknesses)))
        message = sentences.NO_BACKING % {"thickness": thickness, "thicknesses": thicknesses}
        yield MissingRule("backingThicknesses", thickness), Code.BACKING_THICKNESS_UNKNOWN, message
    if part.thickness_mm not in rules.trim_by_thickness:
        message = sentences.NO_TRIM % {"thickness": thickness}
        yield MissingRule("trimByThickness", thickness), Code.TRIM_RULE_MISSING, message
    if str(part.grain) not in rules.grain_mapping:
        message = sentences.NO_GRAIN % {"grain": part.grain}
        yield MissingRule("grainMapping", str(part.grain)), Code.INVALID_GRAIN, message
    # A backing never has edges, so an unknown edge in its order does no harm.
    for side, name in () if part.is_backing else part.edges.items():
        if name not in rules.edge_mapping:
            message = sentences.NO_EDGE % {"side": side, "name": repr(name), "names": ", ".join(rules.edge_mapping)}
            yield MissingRule("edgeMapping", name), Code.EDGE_MAPPING_UNKNOWN, message
