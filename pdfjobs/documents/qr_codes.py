"""QR codes as SVG paths: sharp at any printer's resolution, and plain text that templates escape like any other."""

from dataclasses import dataclass
from itertools import groupby

import segno

QUIET_ZONE = 2  # modules of white in the drawing; the label leaves the other two that the standard asks for


@dataclass(frozen=True)
class QrCode:
    view_box: str
    path: str  # horizontal strokes, one module high


def qr_code(text: str) -> QrCode:
    """Return the code of a text. UTF-8 always, and always the same modules for the same text."""
    matrix = segno.make_qr(text, error="m", encoding="utf-8", boost_error=False).matrix
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
