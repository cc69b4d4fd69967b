"""Sentences that workers store as a code and its values; each reader gets them in their own language.

    NO_TRIM = sentence("NO_TRIM", gettext_noop("No trim rule for %(thickness)s mm."))
    text = NO_TRIM % {"thickness": 33}        English, for logs, exceptions and answers of the API
    storable(text, 1000)                      NO_TRIM{"thickness": "33"}, for a column (kilit.lock.text)
    english(column), translated(column)       the sentence again

Text of people and of other systems is stored as it is, also beside a sentence (`joined`). What does not fit into its
column is stored in English, cut off.
"""

import json
import re
from collections.abc import Callable, Mapping

from django.utils.translation import gettext

START = re.compile(r"\b([A-Z][A-Z0-9_]*)(?=\{)")
ESCAPE = re.compile(r"\\(.)")
_templates: dict[str, str] = {}
_read_values = json.JSONDecoder().raw_decode


class Sentence(str):
    """A sentence in English that knows how it is stored."""

    code: str
    stored: str

    def __str__(self) -> str:  # also of an exception: `str` alone would forget the code
        return self

    def __mod__(self, values: Mapping[str, object]) -> "Sentence":
        return _made(self.code, str.__mod__(self, values), {name: stored(value) for name, value in values.items()})


def sentence(code: str, template: str) -> Sentence:
    """Declare a sentence; `gettext_noop` marks its template for translators. Rows keep the code for years."""
    if _templates.setdefault(code, template) != template:
        raise ValueError(f"two sentences have the code {code}")
    return _made(code, template, {})


def joined(*texts: str) -> Sentence:
    """Return sentences and texts from outside one after the other."""
    whole = Sentence(" ".join(filter(None, texts)))
    whole.stored = " ".join(filter(None, map(stored, texts)))
    return whole


def stored(value: object) -> str:
    return value.stored if isinstance(value, Sentence) else str(value)


def english(text: str) -> str:
    return _write(stored(text), str)


def english_values(values: Mapping[str, object]) -> dict[str, object]:
    return {name: english(value) if isinstance(value, str) else value for name, value in values.items()}


def translated(text: str) -> str:
    """Return a stored text in the active language."""
    return _write(stored(text), gettext)


def _made(code: str, text: str, values: dict[str, str]) -> Sentence:
    made = Sentence(text)
    # Without a quote inside a value, every value is a quoted part for the shape of an error.
    escaped = ESCAPE.sub(lambda pair: r"\u0022" if pair[1] == '"' else pair[0], json.dumps(values, ensure_ascii=False))
    made.code, made.stored = code, f"{code}{escaped}"
    return made


def _write(text: str, translate: Callable[[str], str]) -> str:
    parts, start = [], 0
    for match in START.finditer(text):
        try:
            values, end = _read_values(text, match.end())
            template = translate(_templates[match[1]])
            written = template % {name: _write(value, translate) for name, value in values.items()}
        except (KeyError, ValueError, TypeError, AttributeError):  # another system's text, or of a newer version
            continue
        if match.start() >= start:
            parts += [text[start : match.start()], written]
            start = end
    return "".join([*parts, text[start:]])
