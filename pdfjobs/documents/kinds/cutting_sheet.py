"""A panel cutting sheet: what a furniture factory cuts from which boards."""

from collections.abc import Mapping
from decimal import ROUND_CEILING, Decimal
from typing import Annotated

from pydantic import Field

from pdfjobs.documents.board_plans import MOST_BOARDS, MOST_PLACED, BoardPlan, drawn_board
from pdfjobs.documents.definition import Document
from pdfjobs.documents.fields import Amount, Choice, Day, Flag, LongText, Rate, Rows, Text, Variables
from pdfjobs.documents.formatting import LocaleFormatter
from pdfjobs.documents.panels import GRAIN_ARROWS, CutPanel, drawing
from pdfjobs.documents.pricing import HUNDRED, LocalizedDocument

MOST_SIDE = 6000  # millimetres
SQUARE = Decimal(1_000_000)  # square millimetres in a square metre
METRE = Decimal(1000)
MOST_PARTS = 1500  # in all; with the longest texts they are 4 MB of HTML, and 5 MB are rendered
SHORT_TABLE = 6  # rows that stay on one page
LABELS = {
    "sheet": ("Kesim listesi", "Cutting sheet"),
    "order_number": ("Sipariş no", "Order no"),
    "due_on": ("Termin", "Due"),
    "prepared_by": ("Hazırlayan", "Prepared by"),
    "board": ("Plaka", "Board"),
    "edge_band": ("Kenar bandı", "Edge band"),
    "with_grain": ("desenli", "with grain"),
    "number": ("No", "No"),
    "part": ("Parça", "Part"),
    "length": ("Boy", "Length"),
    "width": ("En", "Width"),
    "quantity": ("Adet", "Qty"),
    "edges": ("Kenar", "Edges"),
    "note": ("Not", "Note"),
    "cut": ("Kesim", "Cut"),
    "banded": ("Bant", "Band"),
    "pieces": ("Parça adedi", "Pieces"),
    "area": ("Net alan", "Net area"),
    "edge_length": ("Bant uzunluğu", "Edge band"),
    "drill_code": ("Delik", "Drill"),
    "boards": ("Plaka (yaklaşık)", "Boards (about)"),
    "waste": ("fire payı", "for waste"),
    "cut_sizes": (
        "Ölçüler milimetre, kesim ölçüsüdür: kenar bandı dahil değildir.",
        "Millimetres, as cut: edge bands are not included.",
    ),
    "finished_sizes": (
        "Ölçüler milimetre, bitmiş ölçüdür: kenar bandı dahildir. Kesim planındaki parçalar bant kadar küçüktür.",
        "Millimetres, finished: edge bands are included. Parts of the cutting plan are smaller by their bands.",
    ),
    "all": ("Toplam", "Total"),
    "checked": ("Kesen, tarih", "Cut by, date"),
    "notes": ("Notlar", "Notes"),
    "plan": ("Kesim planı", "Cutting plan"),
    "alike": ("plaka, aynı kesim", "boards cut alike"),
    "offcuts": ("Artan parçalar", "Offcuts"),
    "taken": ("Stoktaki artan parçadan kesilir", "Cut from offcuts in stock"),
    "order_of_cuts": (
        "Numaralar kesim sırasıdır: önce tıraşlama, sonra boydan boya kesimler, sonra her şerit.",
        "Numbers are the order of the cuts: trims, then cuts through the whole board, then each strip.",
    ),
}
BoardSide = Annotated[Decimal, Amount(least=Decimal(100), most=MOST_SIDE, places=1)]
Edges = Annotated[Decimal, Amount(most=2, places=0)]


class CutPart(CutPanel):
    name: Annotated[str, Text(160)] = Field(description="name of the part")
    quantity: Annotated[Decimal, Amount(least=Decimal(1), most=100_000, places=0)] = Field(description="how many")
    long_edges: Edges = Field(Decimal(0), description="banded edges along the length: 0, 1 or 2, if they are not named")
    short_edges: Edges = Field(Decimal(0), description="banded edges along the width: 0, 1 or 2, if they are not named")
    note: Annotated[str, Text(200)] = Field("", description="note for the saw or the edge bander")

    @property
    def bands(self) -> list[tuple[str, Decimal]]:
        sides = ((self.edge_up, self.length), (self.edge_lo, self.length))
        return [(name, side) for name, side in (*sides, (self.edge_sx, self.width), (self.edge_dx, self.width)) if name]

    @property
    def banded(self) -> Decimal:
        if self.bands:
            return sum((side for _, side in self.bands), Decimal(0))
        return self.long_edges * self.length + self.short_edges * self.width


class BoardMaterial(Variables):
    name: Annotated[str, Text(160)] = Field(description="the board, such as `18 mm MDF lam, beyaz`")
    board_length: BoardSide = Field(description="length of a whole board, in millimetres")
    board_width: BoardSide = Field(description="width of a whole board, in millimetres")
    grain: Flag = Field(default=False, description="whether parts must keep their direction")
    edge_band: Annotated[str, Text(120)] = Field("", description="the edge band")
    parts: Annotated[list[CutPart], Rows(1000)] = Field(description="parts cut from it")


class CuttingSheet(LocalizedDocument):
    order_number: Annotated[str, Text(100)] = Field(description="order number")
    customer: Annotated[str, Text(200)] = Field(description="the customer")
    project: Annotated[str, Text(200)] = Field("", description="the project")
    due_on: Day | None = Field(None, description="due date")
    prepared_by: Annotated[str, Text(120)] = Field("", description="the contact person")
    sizes: Annotated[str, Choice("cut", "finished")] = Field(
        "cut", description="what the parts' sizes are: `finished` includes edge bands"
    )
    waste_rate: Rate = Field(Decimal(12), description="percent added to the estimated number of boards")
    materials: Annotated[list[BoardMaterial], Rows(100, inner="parts", most_inner=MOST_PARTS)] = Field(
        description="materials, one table each"
    )
    plans: Annotated[list[BoardPlan], Rows(MOST_BOARDS, least=0, inner="parts", most_inner=MOST_PLACED)] = Field(
        [], description="how the boards are cut, drawn one below the other"
    )
    notes: LongText = Field("", description="notes on the whole order")


def shape(sheet: CuttingSheet) -> dict[str, object]:
    formatter = LocaleFormatter(sheet.locale)
    materials = [_material(material, sheet.waste_rate, formatter) for material in sheet.materials]
    everything = [part for material in sheet.materials for part in material.parts]
    return {
        **dict(sheet),
        "due_on": formatter.day(sheet.due_on),
        "waste": formatter.percent(sheet.waste_rate),
        "materials": [context for context, _ in materials],
        "several": len(materials) > 1,
        "all": _totals({name: sum(sums[name] for _, sums in materials) for name in materials[0][1]}, formatter),
        "bands": _bands(everything, formatter),
        "plans": [drawn_board(number, board, formatter) for number, board in enumerate(sheet.plans, start=1)],
        "measures": formatter.labels(LABELS)[f"{sheet.sizes}_sizes"],
        "words": formatter.labels(LABELS),
    }


def _material(
    material: BoardMaterial, waste_rate: Decimal, formatter: LocaleFormatter
) -> tuple[dict[str, object], dict[str, Decimal]]:
    sums = {
        "pieces": sum((part.quantity for part in material.parts), Decimal(0)),
        "area": sum((part.quantity * part.length * part.width for part in material.parts), Decimal(0)) / SQUARE,
        "edges": sum((part.quantity * part.banded for part in material.parts), Decimal(0)) / METRE,
    }
    board = material.board_length * material.board_width / SQUARE
    needed = sums["area"] * (HUNDRED + waste_rate) / HUNDRED / board
    sums["boards"] = needed.to_integral_value(ROUND_CEILING)
    context = {
        **dict(material),
        "parts": [_part(number, part, formatter) for number, part in enumerate(material.parts, start=1)],
        "short": len(material.parts) <= SHORT_TABLE,
        "size": f"{_side(material.board_length, formatter)} × {_side(material.board_width, formatter)} mm",
        "totals": _totals(sums, formatter),
    }
    return context, sums


def _part(number: int, part: CutPart, formatter: LocaleFormatter) -> dict[str, object]:
    return {
        **dict(part),
        "number": str(number),
        "length": _side(part.length, formatter),
        "width": _side(part.width, formatter),
        "quantity": formatter.number(part.quantity),
        "grain": GRAIN_ARROWS[int(part.grain)],
        "panel": drawing(part) if part.bands else None,
    }


def _bands(parts: list[CutPart], formatter: LocaleFormatter) -> list[dict[str, str]]:
    metres: dict[str, Decimal] = {}
    for part in parts:
        for name, side in part.bands:
            metres[name] = metres.get(name, Decimal(0)) + part.quantity * side / METRE
    return [{"name": name, "length": f"{formatter.number(length, 1)} m"} for name, length in metres.items()]


def _side(value: Decimal, formatter: LocaleFormatter) -> str:
    """Format millimetres without grouping: 2.164 would be read as a decimal."""
    return formatter.number(value, grouped=False)


def _totals(sums: Mapping[str, Decimal | int], formatter: LocaleFormatter) -> dict[str, str]:
    return {
        "pieces": formatter.number(sums["pieces"]),
        "area": f"{formatter.number(sums['area'], 2)} m²",
        "edges": f"{formatter.number(sums['edges'], 1)} m",
        "boards": formatter.number(sums["boards"]),
    }


CUTTING_SHEET = Document(
    "cutting_sheet",
    "Cutting sheet",
    CuttingSheet,
    shape,
    number=("order_number",),
    recipient="customer",
)
