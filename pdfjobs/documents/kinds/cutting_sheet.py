"""A panel cutting sheet: what a furniture factory cuts from which boards."""

from decimal import ROUND_CEILING, Decimal
from typing import Any

from pdfjobs.documents.definition import Document, read_sample
from pdfjobs.documents.formatting import LOCALES, LocaleFormatter
from pdfjobs.documents.schema import Amount, Choice, Day, FieldGroup, Flag, Rows, Text

MOST_SIDE = Decimal(6000)  # millimetres
SQUARE = Decimal(1_000_000)  # square millimetres in a square metre
METRE = Decimal(1000)
HUNDRED = Decimal(100)
MOST_PARTS = 1500  # in all; with the longest texts they are 4 MB of HTML, and 5 MB are rendered
SHORT_TABLE = 6  # rows that stay on one page
LABELS = {
    "sheet": ("Kesim listesi", "Cutting sheet"),
    "order_number": ("Sipariş no", "Order no"),
    "customer": ("Müşteri", "Customer"),
    "project": ("Proje", "Project"),
    "due_on": ("Termin", "Due"),
    "prepared_by": ("Hazırlayan", "Prepared by"),
    "board": ("Plaka", "Board"),
    "edge_band": ("Kenar bandı", "Edge band"),
    "grain": ("Desen", "Grain"),
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
    "boards": ("Plaka (yaklaşık)", "Boards (about)"),
    "waste": ("fire payı", "for waste"),
    "measures": ("Ölçüler milimetre, bantsız bitmiş ölçüdür.", "Measures in millimetres, finished, without edge band."),
    "all": ("Toplam", "Total"),
    "checked": ("Kesen, tarih", "Cut by, date"),
    "notes": ("Notlar", "Notes"),
}
PART = {
    "name": Text("name of the part", most=160),
    "length": Amount("along the grain, in millimetres", least=Decimal(1), most=MOST_SIDE, places=1),
    "width": Amount("across the grain, in millimetres", least=Decimal(1), most=MOST_SIDE, places=1),
    "quantity": Amount("how many", least=Decimal(1), most=Decimal(100_000), places=0),
    "long_edges": Amount("banded edges along the length: 0, 1 or 2", Decimal(0), most=Decimal(2), places=0),
    "short_edges": Amount("banded edges along the width: 0, 1 or 2", Decimal(0), most=Decimal(2), places=0),
    "note": Text("note for the saw or the edge bander", "", most=200),
}
MATERIAL = {
    "name": Text("the board, such as `18 mm MDF lam, beyaz`", most=160),
    "board_length": Amount("length of a whole board, in millimetres", least=Decimal(100), most=MOST_SIDE, places=1),
    "board_width": Amount("width of a whole board, in millimetres", least=Decimal(100), most=MOST_SIDE, places=1),
    "grain": Flag("whether parts must keep their direction", default=False),
    "edge_band": Text("the edge band", "", most=120),
    "parts": Rows("parts cut from it", row=PART, most=1000),
}
SCHEMA = FieldGroup(
    fields={
        "locale": Choice("the language of the document", "tr", words=LOCALES),
        "order_number": Text("order number", most=40),
        "customer": Text("the customer", most=200),
        "project": Text("the project", "", most=200),
        "due_on": Day("due date", None),
        "prepared_by": Text("the contact person", "", most=120),
        "waste_rate": Amount("percent added to the estimated number of boards", Decimal(12), most=HUNDRED),
        "materials": Rows("materials, one table each", row=MATERIAL, most=30, inner="parts", most_inner=MOST_PARTS),
        "notes": Text("notes on the whole order", "", most=2000, lines=True),
    }
)


def shape(given: dict[str, Any]) -> dict[str, Any]:
    formatter = LocaleFormatter(given["locale"])
    materials = [_material(material, given["waste_rate"], formatter) for material in given["materials"]]
    return {
        **given,
        "due_on": formatter.day(given["due_on"]),
        "waste": formatter.percent(given["waste_rate"]),
        "materials": [shown for shown, _ in materials],
        "several": len(materials) > 1,
        "all": _totals({name: sum(sums[name] for _, sums in materials) for name in materials[0][1]}, formatter),
        "words": formatter.labels(LABELS),
    }


def _material(
    material: dict[str, Any], waste_rate: Decimal, formatter: LocaleFormatter
) -> tuple[dict[str, Any], dict[str, Decimal]]:
    sums = {"pieces": Decimal(0), "area": Decimal(0), "edges": Decimal(0)}
    parts = []
    for number, part in enumerate(material["parts"], start=1):
        count = part["quantity"]
        sums["pieces"] += count
        sums["area"] += count * part["length"] * part["width"] / SQUARE
        sums["edges"] += count * (part["long_edges"] * part["length"] + part["short_edges"] * part["width"]) / METRE
        parts.append(
            {
                **part,
                "number": str(number),
                "length": _side(part["length"], formatter),
                "width": _side(part["width"], formatter),
                "quantity": formatter.number(count),
                "long_edges": str(part["long_edges"]),
                "short_edges": str(part["short_edges"]),
            }
        )
    board = material["board_length"] * material["board_width"] / SQUARE
    needed = sums["area"] * (HUNDRED + waste_rate) / HUNDRED / board
    sums["boards"] = needed.to_integral_value(ROUND_CEILING)
    size = f"{_side(material['board_length'], formatter)} × {_side(material['board_width'], formatter)} mm"
    short = len(parts) <= SHORT_TABLE
    shown = {**material, "parts": parts, "short": short, "size": size, "totals": _totals(sums, formatter)}
    return shown, sums


def _side(value: Decimal, formatter: LocaleFormatter) -> str:
    """Format millimetres without grouping: 2.164 would be read as a decimal."""
    return formatter.number(value, grouped=False)


def _totals(sums: dict[str, Any], formatter: LocaleFormatter) -> dict[str, str]:
    return {
        "pieces": formatter.number(sums["pieces"]),
        "area": f"{formatter.number(sums['area'], 2)} m²",
        "edges": f"{formatter.number(sums['edges'], 1)} m",
        "boards": formatter.number(sums["boards"]),
    }


CUTTING_SHEET = Document("cutting_sheet", "Cutting sheet", SCHEMA, shape, read_sample("cutting_sheet"))
