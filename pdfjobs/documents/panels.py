"""A panel as labels and cutting sheets draw it: its length across, banded sides thick, an arrow for the grain."""

from decimal import Decimal
from typing import Annotated

from pydantic import Field

from pdfjobs.documents.fields import Amount, Text, Variables

GRAIN_ARROWS = ("", "↔", "↕", "↔↕")  # free, along the length, along the width, mixed
MOST_BAND = 32  # characters of a band's name
# The largest and the smallest rectangle, in a view box of 100 × 46; the names of the bands stand around it.
MOST_ACROSS, MOST_UP, LEAST_ACROSS, LEAST_UP = (Decimal(size) for size in (54, 26, 16, 14))
BESIDE, ABOVE = 5, 24  # letters that fit beside the rectangle, and above or below it
Band = Annotated[str, Text(MOST_BAND)]
PanelSide = Annotated[Decimal, Amount(least=Decimal("0.01"), most=6000, places=2)]


class CutPanel(Variables):
    length: PanelSide = Field(description="in millimetres; drawn from left to right")
    width: PanelSide = Field(description="in millimetres; drawn from top to bottom")
    edge_up: Band = Field("", description="name of the edge band at the top, along the length")
    edge_lo: Band = Field("", description="name of the edge band at the bottom, along the length")
    edge_sx: Band = Field("", description="name of the edge band on the left, along the width")
    edge_dx: Band = Field("", description="name of the edge band on the right, along the width")
    grain: Annotated[Decimal, Amount(most=3, places=0)] = Field(
        Decimal(0), description="0 free, 1 along the length, 2 along the width, 3 mixed"
    )
    drill_code: Annotated[str, Text(200)] = Field("", description="drill code")


def drawing(panel: CutPanel) -> dict[str, object]:
    scale = min(MOST_ACROSS / panel.length, MOST_UP / panel.width)
    across, up = max(panel.length * scale, LEAST_ACROSS), max(panel.width * scale, LEAST_UP)
    left, top = 50 - across / 2, 23 - up / 2
    right, bottom = left + across, top + up
    sides = (
        (panel.edge_up, ABOVE, f"M{left:.2f} {top:.2f}H{right:.2f}", 50, top - 3, "middle"),
        (panel.edge_lo, ABOVE, f"M{left:.2f} {bottom:.2f}H{right:.2f}", 50, bottom + 10, "middle"),
        (panel.edge_sx, BESIDE, f"M{left:.2f} {top:.2f}V{bottom:.2f}", left - 3, 26, "end"),
        (panel.edge_dx, BESIDE, f"M{right:.2f} {top:.2f}V{bottom:.2f}", right + 3, 26, "start"),
    )
    return {
        "outline": f"M{left:.2f} {top:.2f}H{right:.2f}V{bottom:.2f}H{left:.2f}Z",
        "banded": "".join(side for name, _, side, *_ in sides if name),
        "names": [
            {"text": shorten(name, most), "x": f"{x:.2f}", "y": f"{y:.2f}", "anchor": anchor}
            for name, most, _, x, y, anchor in sides
            if name
        ],
        "grain": GRAIN_ARROWS[int(panel.grain)],
    }


def shorten(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
