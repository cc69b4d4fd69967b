"""Damaged JSON and bytes, and the answers to them."""

import json
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)


values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3)
)


@st.composite
def spoilt(draw: Any, whole: Any) -> Any:
    """Return JSON with something else in one place."""
    copy = json.loads(json.dumps(whole))
    here = copy
    while True:
        places = list(here) if isinstance(here, dict) else list(range(len(here)))
        place = draw(st.sampled_from(places))
        if isinstance(here[place], dict | list) and here[place] and draw(st.booleans()):
            here = here[place]
            continue
        if isinstance(here, dict) and draw(st.booleans()):
            here[draw(st.text(max_size=10))] = here.pop(place)
        else:
            here[place] = draw(values)
        return copy


@st.composite
def damaged(draw: Any, whole: bytes) -> bytes:
    """Return bytes with a few of them changed, cut out or put in."""
    found = bytearray(whole)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, max(0, len(found) - 1)))
        found[at : at + draw(st.integers(0, 40))] = draw(st.binary(max_size=10))
    return bytes(found)


def answer(function: Callable[..., Any], *args: Any, refusal: type[Exception], **options: Any) -> Any:
    """Return what came out, or the refusal; any other exception fails the test."""
    try:
        return function(*args, **options)
    except refusal as refused:
        return refused
