"""Lines and colours for people, JSON for machines. Everything that a server wrote is made plain before it is shown."""

import json
import re
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

from cyclopts import Parameter
from rich.box import SIMPLE_HEAD
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from kilit_cli.failures import Failure

AsJson = Annotated[bool, Parameter(name="--json", negative="", help="Print JSON, as the server answered.")]
COLOURS = {
    **dict.fromkeys(("failed", "error", "critical", "blocked", "ended"), "red"),
    **dict.fromkeys(("hold", "retry", "warning", "waiting", "expired", "withheld"), "yellow"),
    **dict.fromkeys(("completed", "succeeded", "done", "sent", "ready"), "green"),
}
UNITS = {"d": timedelta(days=1), "h": timedelta(hours=1), "min": timedelta(minutes=1), "s": timedelta(seconds=1)}
LONGEST = 2_000
# A terminal's commands: CSI (colours, cursor), OSC (titles, links, clipboard) and other strings, and two-letter ones.
CSI = r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"
STRINGS = r"(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"
ESCAPES = re.compile(rf"{CSI}|{STRINGS}|\x1b.?", re.DOTALL)
# Controls and line ends become spaces, halves of characters a mark. Invisible characters, changes of direction among
# them, go; but words of some languages, and emoji, need joiners.
REPLACEMENTS = {"Cc": " ", "Zl": " ", "Zp": " ", "Cs": "\ufffd", "Cf": ""}
JOINERS = "\u200c\u200d"
View = Callable[[dict[str, Any]], Iterable[RenderableType]]
out = Console(highlight=False)
notes = Console(stderr=True, highlight=False)  # progress and errors, so that output can be piped


def show(answer: dict[str, Any], view: View, *, as_json: bool) -> None:
    """Print an answer for a machine, or as a view draws it."""
    if as_json:
        # In ASCII: no text in it can be a command to a terminal, and every stream can encode it.
        sys.stdout.write(f"{json.dumps(answer, indent=2)}\n")
        return
    for part in list(view(answer)) or ["Nothing."]:
        out.print(part)


def show_failure(failure: Failure, *, as_json: bool) -> None:
    if as_json:
        sys.stdout.write(f"{json.dumps({'error': failure.error}, indent=2)}\n")
    for text in (failure.message, *(f"  {text}" for text in (*failure.details, failure.advice) if text)):
        notes.print(styled(text, "red" if text is failure.message else ""), soft_wrap=True)  # paths can be copied


def plain(value: object) -> str:
    """Return text of strangers in one line, without commands to the terminal."""
    text = ESCAPES.sub("", str(value)[: 4 * LONGEST])
    text = "".join(c if c in JOINERS else REPLACEMENTS.get(unicodedata.category(c), c) for c in text)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def styled(value: object, style: str) -> Text:
    return Text("" if value is None else plain(value), style=style)


def tint(words: object, state: object) -> Text:
    return styled(words, COLOURS.get(str(state).lower(), ""))


def line(*parts: object) -> Text:
    """Join what is not empty."""
    return Text("  ").join(text for text in map(_text, parts) if text.plain)


def below(*values: object) -> Iterator[RenderableType]:
    """Indent lines; what is empty or was said by another of them is left out."""
    for text in {text.plain: text for text in map(_text, values) if text.plain}.values():
        yield Padding(text, (0, 0, 0, 2), expand=False)


def _text(value: object) -> Text:
    return value if isinstance(value, Text) else styled(value, "")


def table(*headings: str, rows: Iterable[Sequence[object]], right: Sequence[str] = ()) -> Table:
    """Return a table; headings in `right` are of numbers."""
    drawn = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)  # narrow: 80 columns suffice
    for heading in headings:
        drawn.add_column(heading, justify="right" if heading in right else "left", overflow="fold")
    for row in rows:
        drawn.add_row(*(_text(number(cell)) for cell in row))
    return drawn


def number(value: object) -> object:
    return f"{value:,}" if isinstance(value, int) else value


def read_time(value: object) -> datetime:
    """Return a time in the user's time zone."""
    return datetime.fromisoformat(str(value)).astimezone()


def clock(value: object) -> str:
    return f"{read_time(value):%Y-%m-%d %H:%M:%S}"


def age(value: object) -> str:
    span = datetime.now(UTC) - read_time(value) if value else timedelta()
    return next((f"{span // unit} {name}" for name, unit in UNITS.items() if span >= unit), "")
