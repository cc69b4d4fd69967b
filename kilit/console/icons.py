"""A template loader that hides icons from screen readers.

Unfold's icons are words ("chevron_right") in a font that draws them, and would be read aloud. An icon with a title is
an image of that name; all others say nothing that the text beside them does not say.
"""

import re
from functools import cached_property
from pathlib import Path
from typing import Any

from django.forms import renderers
from django.template import Engine, Origin
from django.template.loaders import cached

ICON = re.compile(r"<(?:span|div|i)\b(?=[^>]*\bmaterial-symbols-outlined\b)(?![^>]*\b(?:aria-hidden|role)=)[^>]*")
FOLDERS = ("filesystem", "app_directories")
TITLE = re.compile(r"\stitle=")


def hide_icons(source: str) -> str:
    return ICON.sub(lambda tag: tag[0] + (' role="img"' if TITLE.search(tag[0]) else ' aria-hidden="true"'), source)


class ConsoleLoader(cached.Loader):
    def __init__(self, engine: Engine) -> None:
        super().__init__(engine, [f"django.template.loaders.{folder}.Loader" for folder in FOLDERS])

    def get_contents(self, origin: Origin) -> str:
        return hide_icons(super().get_contents(origin))


class FormRenderer(renderers.DjangoTemplates):
    """Django's renderer of form fields, which has an engine of its own."""

    @cached_property
    def engine(self) -> Any:
        folder = Path(renderers.__file__).parent / "templates"
        options = {"loaders": [f"{__name__}.ConsoleLoader"]}
        return self.backend({"APP_DIRS": False, "DIRS": [folder], "NAME": "djangoforms", "OPTIONS": options})
