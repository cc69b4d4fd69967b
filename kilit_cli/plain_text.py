"""Makes text that strangers wrote safe for a terminal: source keys and error texts may hold anything."""

import re
import unicodedata

LONGEST = 2_000
# A terminal's commands: CSI (colours, cursor), OSC (titles, links, clipboard) and other strings, and two-letter ones.
CSI = r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"
STRINGS = r"(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"
ESCAPES = re.compile(rf"{CSI}|{STRINGS}|\x1b.?", re.DOTALL)
# Controls and line ends become spaces, halves of characters a mark. Invisible characters, changes of direction among
# them, go; but words of some languages, and emoji, need joiners.
REPLACEMENTS = {"Cc": " ", "Zl": " ", "Zp": " ", "Cs": "\ufffd", "Cf": ""}
JOINERS = "\u200c\u200d"


def plain(value: object) -> str:
    """Return text in one line without commands to the terminal."""
    text = ESCAPES.sub("", str(value)[: 4 * LONGEST])
    text = "".join(c if c in JOINERS else REPLACEMENTS.get(unicodedata.category(c), c) for c in text)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
