"""Page options: what is accepted and what is rejected."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdfjobs.rendering import OptionsError, PageOptions
from pdfjobs.rendering.options import PAPERS

WORDS = st.text(st.characters(exclude_categories=["Cc", "Cs"], exclude_characters="{}\ufffe\uffff"), max_size=40)
LINES = st.none() | st.fixed_dictionaries({}, optional=dict.fromkeys(("left", "center", "right"), WORDS))
OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "paper": st.sampled_from(sorted(PAPERS)),
        "landscape": st.booleans(),
        "margin": st.fixed_dictionaries({}, optional={"top": st.integers(10, 30), "left": st.floats(0, 30)}),
        "pages": st.sampled_from(["", "1", "1-3", "2, 5-7"]),
        "header": LINES,
        "footer": LINES,
        "tagged": st.booleans(),
        "metadata": st.fixed_dictionaries({}, optional={"title": WORDS, "keywords": st.lists(WORDS, max_size=3)}),
    },
)


@given(OPTIONS)
def test_options_written_out_read_back_the_same(given_options: dict[str, Any]) -> None:
    """The canonical form contains every option."""
    options = PageOptions.read(given_options)

    assert PageOptions.read(options.canonical()) == options
    assert PageOptions.read(options.canonical()).canonical() == options.canonical()


def test_options_left_out_equal_the_defaults_written_out() -> None:
    assert PageOptions.read({}) == PageOptions.read({"paper": "A4", "landscape": False, "pages": ""})


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({"papper": "A4"}, "options.papper: is not known. Allowed: paper,"),
        ({"paper": "A0"}, "options.paper: 'A0' is not one of A3, A4"),
        ({"paper": ["A4"]}, "options.paper:"),
        ({"landscape": "yes"}, "options.landscape: expected true or false"),
        ({"tagged": 1}, "options.tagged: expected true or false"),
        ({"margin": {"top": -1}}, "options.margin.top: -1 is not a number from 0 to 60"),
        ({"margin": {"top": True}}, "options.margin.top: True is not a number"),
        ({"margin": {"top": float("nan")}}, "options.margin.top: nan is not a number"),
        ({"margin": {"top": "2cm"}}, "options.margin.top: '2cm' is not a number"),
        ({"margin": {"inner": 3}}, "options.margin.inner: is not known"),
        ({"margin": 5}, "options.margin: expected an object"),
        ({"paper": "A6", "margin": {"left": 60, "right": 60}}, "options.margin: left and right leave less than 40 mm"),
        ({"header": {"left": "x"}, "margin": {"top": 4}}, "options.margin.top: a header needs 10 mm"),
        ({"margin": {"bottom": 4}}, "options.margin.bottom: a footer needs 10 mm"),
        ({"pages": "3-1"}, "options.pages: '3-1' is not a range"),
        ({"pages": "٣"}, "options.pages: '٣' is not a range"),
        ({"pages": "0"}, "options.pages: '0' is not a range"),
        ({"pages": "1-99999"}, "options.pages: '1-99999' is not a range"),
        ({"pages": "1,,2"}, "options.pages: '' is not a range"),
        ({"pages": 3}, "options.pages: expected a text"),
        ({"footer": {"left": "{date}"}}, "options.footer.left: {date} is not a placeholder. Allowed: {page}"),
        ({"footer": {"left": "x" * 121}}, "options.footer.left: 121 characters; at most 120"),
        ({"footer": "1"}, "options.footer: expected an object"),
        ({"metadata": {"title": "a\x00b"}}, "options.metadata.title: contains line breaks, control characters"),
        ({"metadata": {"author": "\ud800"}}, "options.metadata.author: contains line breaks, control characters"),
        ({"metadata": {"keywords": "a,b"}}, "options.metadata.keywords: expected a list"),
        ({"metadata": {"keywords": ["a", 3]}}, "options.metadata.keywords.1: expected a text"),
    ],
)
def test_options_that_make_no_sense_are_refused_by_their_path(options: dict[str, Any], fault: str) -> None:
    with pytest.raises(OptionsError) as refused:
        PageOptions.read(options)

    assert [found for found in refused.value.errors if found.startswith(fault)]


def test_every_fault_is_named_at_once() -> None:
    with pytest.raises(OptionsError) as refused:
        PageOptions.read({"paper": "A0", "tagged": 1, "x": 2})

    assert len(refused.value.errors) == 3
