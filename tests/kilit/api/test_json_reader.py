"""The JSON that messages are read from: exact numbers, no duplicate names, and other encodings named."""

import gzip
import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kilit.api.json_reader import parse_json


@pytest.mark.parametrize(
    "text",
    ["0.1", "1.10", "1E5", "1e-5", "0.100000000000000000000000000001", "12345678901234567890.5", "1e400", "-0.0"],
)
def test_a_number_with_point_or_exponent_is_exactly_what_was_written(text: str) -> None:
    found = parse_json(text.encode())

    assert isinstance(found, Decimal)
    assert found.as_tuple() == Decimal(text).as_tuple()


def test_a_whole_number_is_an_integer_of_any_size() -> None:
    assert parse_json(b"[0, -5, 9007199254740993, 123456789012345678901234567890]") == [
        0,
        -5,
        9007199254740993,
        123456789012345678901234567890,
    ]
    assert parse_json(b"9" * 5000) == Decimal("9" * 5000)


@pytest.mark.parametrize("text", ["1e999999999999999999999", "-1e999999999999999999999", "1e-999999999999999999999"])
def test_an_exponent_beyond_those_of_decimals_is_read(text: str) -> None:
    assert isinstance(parse_json(text.encode()), Decimal)


@pytest.mark.parametrize(
    "body",
    [
        *(b"NaN", b"[Infinity]", b'{"a": -Infinity}'),
        *(b"", b" ", b"{", b"[1,]", b'{"a":1,}', b"{'a': 1}", b"01", b"+1", b".5", b"1.", b"1 2", b"nul", b"// a\n1"),
        *(b'"\x01"', b'"a\nb"', b'"\\x41"', b'"\\u12"'),
        *(b"\xef\xbb\xbf1", b'"\xff"', b'"\xed\xa0\x80"', '"a"'.encode("utf-16")),
        *(b'{"a": 1, "a": 2}', b'{"a": 1, "\\u0061": 1}', b'[{"b": {"a": 1, "a": 2}}]'),
    ],
)
def test_what_is_not_json_or_ambiguous_is_refused(body: bytes) -> None:
    with pytest.raises(ValueError, match=r".+"):
        parse_json(body)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"\xef\xbb\xbf{}", "it begins with a byte order mark. Send it as UTF-8 without one."),
        ('{"a": 1}'.encode("utf-16"), "it looks like UTF-16. Send it as UTF-8."),
        ('{"a": 1}'.encode("utf-16-be"), "it looks like UTF-16. Send it as UTF-8."),
        ('{"a": 1}'.encode("utf-16-le"), "it looks like UTF-16. Send it as UTF-8."),
        (gzip.compress(b"{}", mtime=0), "it looks like gzip. Send the header Content-Encoding: gzip with it."),
        ('{"a": "ş"}'.encode("cp1254"), "byte 8 is not UTF-8. Send it as UTF-8."),
    ],
)
def test_another_encoding_is_named(body: bytes, words: str) -> None:
    with pytest.raises(ValueError, match=f"^{words}$"):
        parse_json(body)


def test_a_name_that_appears_twice_is_in_the_error() -> None:
    with pytest.raises(ValueError, match='the name "a" appears twice in one object'):
        parse_json(b'{"b": [{"a": 1, "a": 2}]}')


def test_half_a_surrogate_pair_is_left_to_the_message() -> None:
    assert parse_json(b'["\\ud800", "\\ud83d\\ude00"]') == ["\ud800", "😀"]


def test_deep_nesting_is_refused_and_does_not_end_the_process() -> None:
    with pytest.raises((RecursionError, ValueError)):
        parse_json(b"[" * 100_000)


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(st.characters(exclude_categories=["Cs"]))
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner),
    max_leaves=10,
)


@given(value=values, ascii_only=st.booleans())
def test_every_document_is_read_as_python_reads_it(value: Any, ascii_only: bool) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only)

    assert parse_json(text.encode()) == json.loads(text, parse_float=Decimal)
