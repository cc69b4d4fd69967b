"""A document: a template, the schema of its variables, and what they become on paper."""

import hashlib
import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from django.conf import settings
from django.template import Context, Engine, TemplateDoesNotExist, TemplateSyntaxError

from pdfjobs.documents.images import ImageError, inlined
from pdfjobs.documents.schema import Faults, Group
from pdfjobs.rendering.fonts import fonts_digest
from pdfjobs.rendering.renderer import MOST_HTML

INCLUDED = re.compile(r"""\{%-?\s*(?:include|extends)\s+["']([^"']+)["']""")
# No variable can hold a NUL (the schema refuses it), so one in the page tells of a name that the template made up.
MISSING = re.compile("\0(.*?)\0")


class DocumentError(Exception):
    """A template that cannot be filled in; for operators, as it names the place."""

    def __init__(self, template: str, line: int | None, message: str) -> None:
        super().__init__(f"{template}, line {line}: {message}" if line else f"{template}: {message}")
        self.template, self.line, self.message = template, line, message


@dataclass(frozen=True)
class Document:
    name: str
    title: str
    schema: Group
    # Makes what the template shows of what was sent: sums, and numbers in the document's language.
    shape: Callable[[dict[str, Any]], dict[str, Any]]
    sample: dict[str, Any]

    @property
    def template(self) -> str:
        return f"pdf/{self.name}.html"

    @cached_property
    def digest(self) -> str:
        """Return a hash of all that shapes the page besides the variables: templates, styles, our own code, fonts."""
        digest = hashlib.sha256(fonts_digest().encode())
        code = [Path(inspect.getfile(self.shape)), *sorted(Path(__file__).parent.glob("*.py"))]
        for path in [*self._templates(), *code]:
            digest.update(hashlib.sha256(path.read_bytes()).digest())
        return digest.hexdigest()

    def faults(self, variables: Mapping[str, Any]) -> list[str]:
        """Return what is wrong with the variables, each by its path: `lines.0.quantity: …`."""
        faults = Faults()
        self.schema.read(variables, "", faults)
        return faults

    def html(self, variables: Mapping[str, Any]) -> str:
        """Return the page; images that variables point to are in it."""
        faults = Faults()
        read = self.schema.read(variables, "", faults)
        if faults:
            raise DocumentError(self.template, None, "; ".join(faults))
        try:
            shown = inlined(self.shape(read))
        except ImageError as fault:
            raise DocumentError(self.template, None, str(fault)) from None
        page = self._fill(shown)
        if len(page.encode()) > MOST_HTML:  # looked at here, so that workers and the answer in their stead agree
            raise DocumentError(self.template, None, f"the document has over {MOST_HTML:,} bytes of HTML.")
        return page

    def _fill(self, shown: dict[str, Any]) -> str:
        try:
            context = Context(shown, autoescape=True, use_l10n=False, use_tz=False)
            page = _engine().get_template(self.template).render(context)
        except TemplateDoesNotExist as error:
            raise DocumentError(self.template, None, f"there is no template {error}.") from None
        except Exception as error:
            # Whatever a template calls may raise anything; Django notes where it was.
            place = getattr(error, "template_debug", None) or {}
            name = _short(place.get("name")) or self.template
            kind = "" if isinstance(error, TemplateSyntaxError) else f"{type(error).__name__}: "
            raise DocumentError(name, place.get("line"), f"{kind}{error}") from error
        if missing := MISSING.search(page):
            raise DocumentError(*self._place(missing[1]), f"there is no variable {missing[1]!r}.")
        return page

    def _place(self, variable: str) -> tuple[str, int | None]:
        """Return the template and the line that a variable stands in."""
        for path in self._templates():
            for number, line in enumerate(path.read_text().splitlines(), start=1):
                if re.search(rf"\b{re.escape(variable)}\b", line):
                    return _short(str(path)), number
        return self.template, None

    def _templates(self) -> list[Path]:
        """Return the template and what it includes, each once."""
        found: list[Path] = []
        waiting = [self.template]
        while waiting:
            path = _folder() / waiting.pop()
            if path not in found and path.is_file():
                found.append(path)
                waiting += INCLUDED.findall(path.read_text())
        return sorted(found)


def _folder() -> Path:
    return Path(settings.BASE_DIR) / "templates"


def _short(path: str | None) -> str:
    return path.removeprefix(f"{_folder()}/") if path else ""


@cache
def _engine() -> Engine:
    """Return an engine of the documents' own: always escaping, nothing in the context but what is given."""
    return Engine(dirs=[str(_folder())], debug=True, string_if_invalid="\0%s\0")
