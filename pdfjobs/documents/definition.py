"""A document: a template, the model of its variables, and how they become the template's context."""

import hashlib
import inspect
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from django.conf import settings
from django.template import Context, Engine, TemplateDoesNotExist, TemplateSyntaxError

from kilit.api.input_model import InvalidInput
from pdfjobs.documents.fields import Variables
from pdfjobs.documents.images import ImageError, embed_images
from pdfjobs.rendering.chromium import engine_version
from pdfjobs.rendering.fonts import fonts_digest
from pdfjobs.rendering.options import PageOptions
from pdfjobs.rendering.renderer import MOST_HTML
from pdfjobs.states import ErrorCode

INCLUDED = re.compile(r"""\{%-?\s*(?:include|extends)\s+["']([^"']+)["']""")
# The models reject NUL in variables, so a NUL in the page marks a variable that the template uses but does not have.
MISSING = re.compile("\0(.*?)\0")
LONGEST_NAME = 200


class DocumentError(Exception):
    """A document that cannot be rendered. The message is for operators: it names the place in the template."""

    code = ErrorCode.TEMPLATE_ERROR

    def __init__(self, template: str, line: int | None, message: str) -> None:
        super().__init__(f"{template}, line {line}: {message}" if line else f"{template}: {message}")
        self.template, self.line, self.message = template, line, message


class DocumentTooLarge(DocumentError):
    code = ErrorCode.DOCUMENT_TOO_LARGE


@dataclass(frozen=True)
class Document:
    name: str
    title: str
    model: type[Variables]
    # Makes the template's context from the model: totals, and formatted numbers.
    shape: Callable[[Any], dict[str, object]]
    # Variables that together are what people call the document, and the one it is made for.
    number: tuple[str, ...] = ("number",)
    recipient: str = "buyer.name"
    # Page options that the variables determine; callers cannot send them.
    page_of: Callable[[Any], dict[str, object]] = lambda _variables: {}
    # Cuts a long document into parts, each printed by itself, from a new page on.
    split: Callable[[Any], Iterable[Any]] = lambda variables: [variables]
    # A size in bytes that the HTML exceeds in any case; known before what is slow is drawn.
    least_html: Callable[[Any], int] = lambda _variables: 0

    def names(self, variables: Mapping[str, object]) -> dict[str, str]:
        """Return the columns by which people find the document, cut to their length."""
        number = " ".join(_read(variables, path) for path in self.number)
        return {"document_number": number[:LONGEST_NAME], "recipient": _read(variables, self.recipient)[:LONGEST_NAME]}

    @property
    def template(self) -> str:
        return f"pdf/{self.name}.html"

    @cached_property
    def sample(self) -> Any:
        """Variables that show what the document can do: for `GET /pdf/templates`, the demo and tests."""
        return json.loads((Path(__file__).parent / "samples" / f"{self.name}.json").read_text())

    @cached_property
    def digest(self) -> str:
        """Hash everything that determines the page besides the variables: templates, styles, our code, fonts."""
        code = [Path(inspect.getfile(self.shape)), *sorted(Path(__file__).parent.glob("*.py"))]
        digests = [hashlib.sha256(path.read_bytes()).digest() for path in (*self._templates(), *code)]
        return hashlib.sha256(fonts_digest().encode() + b"".join(digests)).hexdigest()

    def job_key(self, variables: Mapping[str, object], options: PageOptions) -> str:
        """Hash everything that determines the PDF except its dates: the same document has the same key."""
        parts = {
            "template": self.name,
            "payload": variables,
            "options": options.canonical(),
            "digest": self.digest,
            "engine": engine_version(),
        }
        text = json.dumps(parts, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
        return hashlib.sha256(text.encode()).hexdigest()

    def html(self, variables: Mapping[str, object]) -> str:
        (page,) = self._made(variables, lambda whole: [whole])
        return page

    def pages(self, variables: Mapping[str, object]) -> Iterator[str]:
        """Yield the document as it is printed: a long one in parts, made one after the other."""
        return self._made(variables, self.split)

    def _made(self, variables: Mapping[str, object], split: Callable[[Any], Iterable[Any]]) -> Iterator[str]:
        try:
            for part in split(self.model.read(variables)):
                is_small = self.least_html(part) <= MOST_HTML
                page = self._fill(embed_images(self.shape(part))) if is_small else ""
                if not is_small or len(page.encode()) > MOST_HTML:  # for workers and the HTML fallback alike
                    raise DocumentTooLarge(
                        self.template, None, f"the document has more than {MOST_HTML:,} bytes of HTML."
                    )
                yield page
        except (InvalidInput, ImageError) as error:
            raise DocumentError(self.template, None, str(error)) from None

    def _fill(self, values: dict[str, object]) -> str:
        try:
            context = Context(values, autoescape=True, use_l10n=False, use_tz=False)
            page = _engine().get_template(self.template).render(context)
        except TemplateDoesNotExist as error:
            raise DocumentError(self.template, None, f"there is no template {error}.") from None
        except Exception as error:
            # A template can raise anything; Django records where.
            place = getattr(error, "template_debug", None) or {}
            name = _short(place.get("name")) or self.template
            kind = "" if isinstance(error, TemplateSyntaxError) else f"{type(error).__name__}: "
            raise DocumentError(name, place.get("line"), f"{kind}{error}") from error
        if missing := MISSING.search(page):
            raise DocumentError(*self._place(missing[1]), f"there is no variable {missing[1]!r}.")
        return page

    def _place(self, variable: str) -> tuple[str, int | None]:
        for path in self._templates():
            for number, line in enumerate(path.read_text().splitlines(), start=1):
                if re.search(rf"\b{re.escape(variable)}\b", line):
                    return _short(str(path)), number
        return self.template, None

    def _templates(self) -> list[Path]:
        paths: list[Path] = []
        pending = [self.template]
        while pending:
            path = _folder() / pending.pop()
            if path not in paths and path.is_file():
                paths.append(path)
                pending += INCLUDED.findall(path.read_text())
        return sorted(paths)


def _read(variables: object, path: str) -> str:
    for name in path.split("."):
        variables = variables.get(name, "") if isinstance(variables, Mapping) else ""
    return str(variables)


def _folder() -> Path:
    return Path(settings.BASE_DIR) / "templates"


def _short(path: str | None) -> str:
    return path.removeprefix(f"{_folder()}/") if path else ""


@cache
def _engine() -> Engine:
    """Return a template engine without context processors that always escapes."""
    return Engine(dirs=[str(_folder())], debug=True, string_if_invalid="\0%s\0")
