"""Sentences that workers store, in the language of each reader.

What is stored is English, as the API gives it. Each sentence is made from a template that is declared once; the
template finds the values in the stored text again, so that the console writes the sentence again. Text that no template
made, of people or of other systems, is shown as it is.
"""

import re
from functools import cache, lru_cache

from django.utils.translation import get_language, gettext

PLACE = re.compile(r"%\((\w+)\)s")
END = re.compile(r"(?<=[.!?]) ")
_templates: list[str] = []


def sentence(template: str) -> str:
    """Declare a template; `gettext_noop` marks it for translators."""
    _templates.append(template)
    return template


def translate_stored(text: str) -> str:
    """Return a stored text in the active language, as far as it is made of declared sentences."""
    language = get_language() or ""
    return text if language.startswith("en") else _translate(text, language)


@lru_cache(maxsize=2000)
def _translate(text: str, _language: str) -> str:
    for template, pattern in _patterns():
        if match := pattern.fullmatch(text):
            values = {name: translate_stored(value) for name, value in match.groupdict().items()}
            return gettext(template) % values if values else gettext(template)
    first, *others = END.split(text, maxsplit=1)
    return " ".join([translate_stored(first), translate_stored(others[0])]) if others else text


@cache
def _patterns() -> list[tuple[str, re.Pattern[str]]]:
    """Return the templates with what they match, those with most words of their own first."""
    ordered = sorted(set(_templates), key=lambda template: -len(PLACE.sub("", template)))
    return [(template, _pattern(template)) for template in ordered]


def _pattern(template: str) -> re.Pattern[str]:
    literals = PLACE.split(template)
    parts = [f"(?P<{part}>.+?)" if place % 2 else re.escape(part) for place, part in enumerate(literals)]
    return re.compile("".join(parts), re.DOTALL)
