"""The fields and tables of the rules' form, and what each shows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext_lazy, gettext_noop
from django_stubs_ext import StrOrPromise

from kilit.csv.numbers import read_number
from orchestrator.planning.rules_in_words import GRAINS, SIZES
from orchestrator.states import Mode

YES = "1"
SAW_SIZES = ("longestMm", "widestMm", "thickestMm")

# What the rules may answer, for the reader's language.
gettext_noop("Expected a price from 0 to 1,000,000 with at most 4 decimals.")
gettext_noop("Expected a number from 0 to 100 with at most 4 decimals.")
gettext_noop("Expected a currency of three capital letters, such as TRY.")
gettext_noop("Expected a number above 0, up to 10,000.")
gettext_noop("Expected a number from 0 to 10,000.")
gettext_noop("Expected a number from 0 to 20.")
gettext_noop("Expected a thickness in millimetres.")
gettext_noop("Expected 2 or 3.")
gettext_noop("Expected days from 1 to 365.")


@dataclass
class RuleCell:
    name: str
    label: StrOrPromise
    is_number: bool = False
    choices: Sequence[tuple[str, StrOrPromise]] = ()
    hint: str = ""  # what holds while it is empty
    value: str = ""
    error: str = ""

    def read(self) -> Any:
        """Return a number or a text, or None for an empty cell and for one with a fault."""
        if not self.is_number or not self.value:
            return self.value or None
        try:
            return read_number(self.value)
        except ValueError as error:
            self.error = str(error)
        return None


@dataclass(frozen=True)
class Section:
    """Fields at paths of the rules, such as `cutting.kerfMm`. Without any value, a section of the rules is left out."""

    title: StrOrPromise
    fields: tuple[RuleCell, ...]


@dataclass(frozen=True)
class RuleTable:
    name: str
    title: StrOrPromise
    about: StrOrPromise
    columns: tuple[RuleCell, ...]


SAWS = [("saw", gettext_lazy("a saw that takes files")), ("hand", gettext_lazy("people, who record it here"))]
LABEL_CODES = [
    ("number", gettext_lazy("the numbers of job, part and piece")),
    ("page", gettext_lazy("a page for phones: cut, edged, drilled, packed")),
]
NO_YES = [("", gettext_lazy("no")), (YES, gettext_lazy("yes"))]
ORDERS_GRAINS = range(4)
GRAIN_CHOICES = [("", gettext_lazy("refused")), *((str(number), name) for number, name in enumerate(GRAINS))]
SECTIONS = (
    Section(
        gettext_lazy("Plate, if an order names none"),
        (
            RuleCell("defaultPlateSize.width_mm", gettext_lazy("Plate width mm"), is_number=True),
            RuleCell("defaultPlateSize.height_mm", gettext_lazy("Plate height mm"), is_number=True),
        ),
    ),
    Section(
        gettext_lazy("Cutting"),
        (
            RuleCell("optiModeDefault", gettext_lazy("Mode, if an order names none"), choices=Mode.choices),
            RuleCell("cutBy", gettext_lazy("Cut by"), choices=SAWS),
            RuleCell("sizesAre", gettext_lazy("Sizes in orders are"), choices=[*SIZES.items()]),
            RuleCell("labelCode", gettext_lazy("QR code on labels"), choices=LABEL_CODES),
            RuleCell("cutting.kerfMm", gettext_lazy("Width of a cut, mm"), is_number=True, hint="4"),
            RuleCell("cutting.stages", gettext_lazy("Stages of cutting, 2 or 3"), is_number=True, hint="3"),
            RuleCell("cutting.secondsPerBoard", gettext_lazy("Seconds per board"), is_number=True, hint="60"),
            RuleCell("cutting.secondsPerCut", gettext_lazy("Seconds per cut"), is_number=True, hint="10"),
        ),
    ),
    Section(
        gettext_lazy("Boards and offcuts in stock"),
        (
            RuleCell("stock.isKept", gettext_lazy("Stock is kept here"), choices=NO_YES),
            RuleCell("stock.leastOffcutLengthMm", gettext_lazy("Shortest offcut, mm"), is_number=True, hint="600"),
            RuleCell("stock.leastOffcutWidthMm", gettext_lazy("Narrowest offcut, mm"), is_number=True, hint="200"),
        ),
    ),
    Section(
        gettext_lazy("Time limits, in minutes"),
        (
            RuleCell("timeouts.optiXmlMinutes", gettext_lazy("OptiPlanning has for its solution"), is_number=True),
            RuleCell("timeouts.osiAckMinutes", gettext_lazy("The saw has for its answer"), is_number=True),
        ),
    ),
    Section(
        gettext_lazy("Grain, by its number in orders"),
        tuple(
            RuleCell(f"grainMapping.{number}", str(number), is_number=True, choices=GRAIN_CHOICES)
            for number in ORDERS_GRAINS
        ),
    ),
    Section(
        gettext_lazy("Prices without VAT"),
        (
            RuleCell("prices.currency", gettext_lazy("Currency"), hint="TRY"),
            RuleCell("prices.vatPercent", gettext_lazy("VAT, percent"), is_number=True),
            RuleCell("prices.perCut", gettext_lazy("Per cut"), is_number=True),
            RuleCell("prices.perMachineMinute", gettext_lazy("Per machine minute"), is_number=True),
            RuleCell("prices.wastePercent", gettext_lazy("Waste in estimates, percent"), is_number=True),
        ),
    ),
    Section(
        gettext_lazy("Your company, on offers"),
        (
            RuleCell("company.name", gettext_lazy("Name")),
            RuleCell("company.address", gettext_lazy("Address")),
            RuleCell("company.taxOffice", gettext_lazy("Tax office")),
            RuleCell("company.taxNumber", gettext_lazy("Tax number")),
            RuleCell("company.phone", gettext_lazy("Phone")),
            RuleCell("company.email", gettext_lazy("E-mail address")),
            RuleCell("company.offerValidDays", gettext_lazy("Offers hold for days"), is_number=True, hint="15"),
        ),
    ),
)
TABLES = (
    RuleTable(
        "boards",
        gettext_lazy("Materials and their prices"),
        gettext_lazy("The code of a material, or * for each without a row of its own. Without a thickness: for all."),
        (
            RuleCell("material", gettext_lazy("Material")),
            RuleCell("thickness", gettext_lazy("Thickness mm"), is_number=True),
            RuleCell("price", gettext_lazy("Price per m²"), is_number=True),
        ),
    ),
    RuleTable(
        "edges",
        gettext_lazy("Edge bands"),
        gettext_lazy("The name that orders use. Without a thickness it means no band; * has the price of the others."),
        (
            RuleCell("name", gettext_lazy("Name")),
            RuleCell("mm", gettext_lazy("Thickness mm"), is_number=True),
            RuleCell("price", gettext_lazy("Price per metre"), is_number=True),
        ),
    ),
    RuleTable(
        "thicknesses",
        gettext_lazy("Thicknesses"),
        gettext_lazy("The trim of boards this thick, and whether backing parts may be this thick."),
        (
            RuleCell("thickness", gettext_lazy("Thickness mm"), is_number=True),
            RuleCell("trim", gettext_lazy("Trim mm"), is_number=True),
            RuleCell("backing", gettext_lazy("Backing parts"), choices=NO_YES),
        ),
    ),
    RuleTable(
        "saws",
        gettext_lazy("Saws, if there are several"),
        gettext_lazy("The first that takes a job's plates cuts it. An empty size is no limit; no materials means all."),
        (
            RuleCell("name", gettext_lazy("Name")),
            RuleCell("longestMm", gettext_lazy("Longest mm"), is_number=True),
            RuleCell("widestMm", gettext_lazy("Widest mm"), is_number=True),
            RuleCell("thickestMm", gettext_lazy("Thickest mm"), is_number=True),
            RuleCell("materials", gettext_lazy("Materials, with commas")),
            RuleCell("byHand", gettext_lazy("Fed by"), choices=[("", SAWS[0][1]), (YES, SAWS[1][1])]),
        ),
    ),
)
