"""Page options: what is accepted and what is rejected."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kilit.api.input_model import InvalidInput
from pdfjobs.rendering import PageOptions
from pdfjobs.rendering.options import PAPERS

WORDS = st.text(st.characters(exclude_categories=["Cc", "Cs"], exclude_characters="{}\ufffe\uffff"), max_size=40)
LINES = st.none() | st.fixed_dictionaries({}, optional=dict.fromkeys(("left", "center", "right"), WORDS))
OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "paper": st.sampled_from(sorted(set(PAPERS) - {"100x50"})),  # too small for the default margins
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
        ({"papper": "A4"}, "papper: Unknown field. Known fields: paper,"),
        ({"paper": "A0"}, "paper: Expected one of A3, A4, A5, A6, Letter, Legal, 100x50."),
        ({"paper": None}, "paper: Expected one of A3, A4"),
        ({"paper": ["A4"]}, "paper: Expected one of A3, A4"),
        ({"landscape": "yes"}, "landscape: Expected true or false."),
        ({"tagged": 1}, "tagged: Expected true or false."),
        ({"margin": {"top": -1}}, "margin.top: Expected a number from 0 to 60."),
        ({"margin": {"top": Decimal("60.04")}}, "margin.top: Expected a number from 0 to 60."),
        ({"margin": {"top": True}}, "margin.top: Expected a number"),
        ({"margin": {"top": None}}, "margin.top: Expected a number"),
        ({"margin": {"top": float("nan")}}, "margin.top: Expected a number"),
        ({"margin": {"top": "2cm"}}, "margin.top: Expected a number"),
        ({"margin": {"top": "2"}}, "margin.top: Expected a number"),
        ({"margin": {"inner": 3}}, "margin.inner: Unknown field. Known fields: top, right, bottom, left."),
        ({"margin": 5}, "margin: Expected an object."),
        (
            {"paper": "A6", "margin": {"left": 60, "right": 60}},
            "margin: Left and right leave less than 40 mm of 105 mm.",
        ),
        ({"header": {"left": "x"}, "margin": {"top": 4}}, "margin.top: A header needs 10 mm"),
        ({"margin": {"bottom": 4}}, "margin.bottom: A footer needs 10 mm"),
        ({"pages": "3-1"}, "pages: '3-1' is not a range. Expected ranges such as '1-3,5', up to page 1000."),
        ({"pages": "٣"}, "pages: '٣' is not a range"),
        ({"pages": "0"}, "pages: '0' is not a range"),
        ({"pages": "1-99999"}, "pages: '1-99999' is not a range"),
        ({"pages": "1,,2"}, "pages: '' is not a range"),
        ({"pages": "1," * 50 + "1"}, "pages: At most 50 ranges."),
        ({"pages": 3}, "pages: Expected a string."),
        (
            {"footer": {"left": "{date}"}},
            "footer.left: {date} is not a placeholder. Allowed: {page}, {pages}, {title}.",
        ),
        ({"footer": {"left": "x" * 121}}, "footer.left: At most 120 characters."),
        ({"footer": "1"}, "footer: Expected an object."),
        ({"metadata": {"title": "a\x00b"}}, "metadata.title: Control characters and broken Unicode are not allowed."),
        ({"metadata": {"title": "a\nb"}}, "metadata.title: Control characters"),
        ({"metadata": {"author": "\ud800"}}, "metadata.author: Control characters and broken Unicode"),
        ({"metadata": {"keywords": "a,b"}}, "metadata.keywords: Expected a list."),
        ({"metadata": {"keywords": ["a"] * 31}}, "metadata.keywords: Expected at most 30, got 31."),
        ({"metadata": {"keywords": ["a", 3]}}, "metadata.keywords.1: Expected a string."),
    ],
)
def test_options_that_make_no_sense_are_refused_by_their_path(options: dict[str, Any], fault: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        PageOptions.read(options)

    assert [found for found in refused.value.lines if found.startswith(fault)]


def test_both_directions_are_checked_at_once() -> None:
    with pytest.raises(InvalidInput) as refused:
        PageOptions.read({"paper": "A6", "margin": dict.fromkeys(("top", "right", "bottom", "left"), 60)})

    assert [line.partition(" leave")[0] for line in refused.value.lines] == [
        "margin: Left and right",
        "margin: Top and bottom",
    ]


@pytest.mark.parametrize(
    ("sent", "read"), [(12, 12.0), (12.34, 12.3), (Decimal("12.36"), 12.4), (Decimal("-0.0"), 0.0)]
)
def test_a_margin_is_read_to_a_tenth(sent: Any, read: float) -> None:
    stored = PageOptions.read({"margin": {"left": sent}}).canonical()["margin"]["left"]

    assert repr(stored) == repr(read)


def test_every_fault_is_named_at_once() -> None:
    with pytest.raises(InvalidInput) as refused:
        PageOptions.read({"paper": "A0", "tagged": 1, "x": 2})

    assert len(refused.value.lines) == 3
