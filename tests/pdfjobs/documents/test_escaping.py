"""Variables are data: they are printed as text."""

from functools import cache
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdfjobs.documents import document
from tests.support.examples import a_hundred_times

NASTY = [
    "<script>alert(1)</script>",
    "{{ number }}",
    "{% include 'pdf/_page.html' %}",
    "{# gone #}",
    "<img src=x onerror=alert(1)>",
    '" onmouseover="alert(1)',
    "' onfocus='alert(1)",
    "&lt;b&gt; &amp;amp; &#60;",
    "</style><style>@import 'http://x'</style>",
    "</title><script>",
    "<!-- -->",
    "]]><svg/onload=alert(1)>",
    "javascript:alert(1)",
]
PRINTABLE = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff"), min_size=1, max_size=60
).filter(lambda text: text == text.strip() and text)
TEXTS = (
    st.sampled_from(NASTY)
    | PRINTABLE
    | st.builds("".join, st.lists(st.sampled_from("<>&\"'{}%#ab "), min_size=1)).map(lambda text: f"x{text}x")
)

PLACES = [
    ("invoice", ("notes",)),
    ("invoice", ("number",)),
    ("invoice", ("buyer", "name")),
    ("offer", ("subject",)),
    ("delivery_note", ("notes",)),
    ("cutting_sheet", ("customer",)),
    ("labels", ("customer",)),
    ("conversion_report", ("site",)),
]


class Shown(HTMLParser):
    """Parse a page like a browser: tags with their attributes, and text."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, Any]] = []
        self.texts: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, sorted(name for name, _ in attrs)))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


@a_hundred_times()
@given(place=st.sampled_from(PLACES), text=TEXTS)
def test_a_text_comes_out_as_itself_and_never_as_markup(place: tuple[str, tuple[str, ...]], text: str) -> None:
    """Feature: pdf-render-worker, Property 6: HTML Sanitizasyon."""
    name, path = place
    kind = document(name)
    text = text[:40].strip()

    plain, filled = plainly(name, path), Shown(kind.html(put(kind.sample, path, text)))

    assert filled.tags == plain.tags
    assert [found.replace("abc", text, 1) if "abc" in found else found for found in plain.texts] == filled.texts


@cache
def plainly(name: str, path: tuple[str, ...]) -> Shown:
    return Shown(document(name).html(put(document(name).sample, path, "abc")))


def put(sample: dict[str, Any], path: tuple[str, ...], value: str) -> dict[str, Any]:
    first, *rest = path
    return sample | {first: put(sample[first], tuple(rest), value) if rest else value}


@pytest.mark.parametrize("text", NASTY)
def test_the_five_letters_that_matter_are_always_written_as_entities(text: str) -> None:
    kind = document("invoice")
    page = kind.html(kind.sample | {"notes": text})

    written = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    assert written.replace('"', "&quot;").replace("'", "&#x27;") in page
