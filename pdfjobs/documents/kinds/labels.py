"""Labels for cut pieces, one a piece: on A4 sheets of labels, or on rolls."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from decimal import Decimal
from itertools import groupby
from typing import Annotated

import segno
from pydantic import Field

from pdfjobs.documents.definition import Document
from pdfjobs.documents.fields import Amount, Choice, Rows, Text
from pdfjobs.documents.formatting import LocaleFormatter
from pdfjobs.documents.panels import CutPanel, drawing, shorten
from pdfjobs.documents.pricing import LocalizedDocument
from pdfjobs.rendering.options import Margin, Paper

QUIET_ZONE = 2  # modules of white in the drawing; the label leaves the other two that the standard asks for
MOST_LABELS = 5_000
AT_ONCE = 240  # whole sheets of every format; with the longest texts 4 MB of HTML, and 5 MB are rendered
MASK = 4  # of a QR code. All are read alike; trying them all, to take the best, takes ten times as long


@dataclass(frozen=True)
class QrCode:
    view_box: str
    path: str  # horizontal strokes, one module high


def qr_code(text: str) -> QrCode:
    """Return the code of a text. UTF-8 always, and always the same modules for the same text."""
    matrix = segno.make_qr(text, error="m", encoding="utf-8", boost_error=False, mask=MASK).matrix
    side = len(matrix) + 2 * QUIET_ZONE
    strokes = []
    for y, row in enumerate(matrix, start=QUIET_ZONE):
        x = QUIET_ZONE
        for is_dark, modules in groupby(row):
            length = len(list(modules))
            if is_dark:
                strokes.append(f"M{x} {y}h{length}")
            x += length
    return QrCode(view_box=f"0 -.5 {side} {side}", path="".join(strokes))


@dataclass(frozen=True)
class LabelFormat:
    paper: Paper
    per_page: int


FORMATS = {
    "70x37": LabelFormat("A4", 24),  # three columns of eight
    "105x57": LabelFormat("A4", 10),  # two columns of five
    "100x50": LabelFormat("100x50", 1),  # a roll
}
DEFAULT_FORMAT = "70x37"
LABELS = {"labels": ("Etiketler", "Labels"), "drill_code": ("Delik", "Drill")}
Count = Annotated[Decimal, Amount(least=Decimal(1), most=9999, places=0)]


class PieceLabel(CutPanel):
    part: Annotated[str, Text(64)] = Field(description="id of the part")
    piece: Count = Field(description="which of the part's pieces it is")
    pieces: Count = Field(description="how many pieces the part has")
    number: Annotated[Decimal, Amount(least=Decimal(1), most=10**8, places=0)] = Field(
        description="which of all the job's labels it is"
    )
    material: Annotated[str, Text(64)] = Field(description="the material's code")
    color: Annotated[str, Text(100)] = Field("", description="the board's colour")
    thickness: Annotated[Decimal, Amount(least=Decimal("0.01"), most=5000)] = Field(
        description="the board's thickness, in millimetres"
    )
    note: Annotated[str, Text(200)] = Field("", description="note on the part")
    code: Annotated[str, Text(300)] = Field("", description="what the QR code holds, if not `job/part/piece`")


class Labels(LocalizedDocument):
    format: Annotated[str, Choice(*FORMATS)] = Field(
        DEFAULT_FORMAT,
        description="a label's size in mm: `70x37` (A4, 24 a sheet), `105x57` (A4, 10 a sheet) or `100x50` (a roll)",
    )
    job: Annotated[str, Text(60)] = Field(description="the job's id: each QR code holds `job/part/piece`")
    order_number: Annotated[str, Text(100)] = Field(description="order number")
    customer: Annotated[str, Text(200)] = Field("", description="the customer")
    labels: Annotated[list[PieceLabel], Rows(MOST_LABELS)] = Field(description="the labels, in the order of printing")


def shape(document: Labels) -> dict[str, object]:
    formatter = LocaleFormatter(document.locale)
    labels = [_label(label, document, formatter) for label in document.labels]
    per_page = FORMATS[document.format].per_page
    return {
        **dict(document),
        "order": {"text": document.order_number, "fit": fit(document.order_number, 30, 60)},
        "customer": shorten(document.customer, 60),
        "sheets": [labels[first : first + per_page] for first in range(0, len(labels), per_page)],
        "words": formatter.labels(LABELS),
    }


def split(document: Labels) -> Iterator[Labels]:
    for first in range(0, len(document.labels), AT_ONCE):
        yield document.model_copy(update={"labels": document.labels[first : first + AT_ONCE]})


def least_html(document: Labels) -> int:
    """Return a size that the labels exceed in any case; drawing the codes of thousands takes most of a minute."""
    texts = [_code_text(label, document) for label in document.labels]
    return sum(1_200 + (10 if text == text.upper() else 25) * len(text.encode()) for text in texts)


def page_of(document: Labels) -> dict[str, object]:
    paper = FORMATS[document.format].paper
    margin = Margin(top=0.0, right=0.0, bottom=0.0, left=0.0)
    return {"paper": paper, "landscape": paper == "100x50", "margin": margin, "header": None, "footer": None}


def fit(text: str, *lengths: int) -> int:
    """Return how many of the lengths a text exceeds: the style prints it so much smaller, but whole."""
    return sum(len(text) > length for length in lengths)


def _label(label: PieceLabel, document: Labels, formatter: LocaleFormatter) -> dict[str, object]:
    def number(value: Decimal) -> str:
        return formatter.number(value, grouped=False)

    board = (f"{number(label.thickness)} mm", label.color, label.material)
    return {
        "part": {"text": label.part, "fit": fit(label.part, 14, 24)},
        "note": shorten(label.note, 60),
        "size": f"{number(label.length)} × {number(label.width)}",
        "board": " · ".join(shorten(text, 40) for text in board if text),
        "drill_code": {"text": label.drill_code, "fit": fit(label.drill_code, 18, 60)},
        "piece": f"{label.piece} / {label.pieces}",
        "number": str(label.number),
        "panel": drawing(label),
        "code": asdict(qr_code(_code_text(label, document))),
    }


def _code_text(label: PieceLabel, document: Labels) -> str:
    return label.code or f"{document.job}/{label.part}/{label.piece}"


LABEL_SHEET = Document(
    "labels",
    "Labels",
    Labels,
    shape,
    page_of=page_of,
    split=split,
    least_html=least_html,
    number=("order_number",),
    recipient="customer",
)
