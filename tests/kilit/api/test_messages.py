"""Messages: what they accept, and what they say about the rest."""

from decimal import Decimal
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from django.db.models import TextChoices
from pydantic import AfterValidator, Field, Strict

from kilit.api.input_model import TEXTS, Expected, InputModel, InvalidInput, invalid, line, text
from kilit.api.json_reader import parse_json

LAX = Strict(strict=False)
COUNT = Annotated[int, Field(ge=1, le=9), Expected("a whole number from 1 to 9")]


class Colour(TextChoices):
    RED = "red"
    BLUE = "blue"


class Item(InputModel):
    name: Annotated[str, line(10)]
    count: COUNT
    colour: Annotated[Colour, LAX] | None = None


class Parcel(InputModel):
    items: list[Item]
    mode: Literal["slow", "fast"] = "slow"
    notes: dict[str, int] = {}


def of(hint: Any) -> type[InputModel]:
    return type("Sample", (InputModel,), {"__annotations__": {"field": hint}})


def errors(model: type[InputModel], data: Any) -> list[tuple[str, str]]:
    with pytest.raises(InvalidInput) as caught:
        model.read(data)
    return [(error["field"], error["message"]) for error in caught.value.errors]


def refuse(value: Any) -> Any:
    raise ValueError(f"{value} is not wanted.")


# For each type of error: a type and a value that cause it, and the whole text.
REFUSED: dict[str, tuple[Any, Any, str]] = {
    "bool_parsing": (Annotated[bool, LAX], "x", "Expected true or false."),
    "bool_type": (bool, "true", "Expected true or false."),
    "dict_type": (dict[str, int], [], "Expected an object."),
    "expected": (Annotated[int, Expected("seven")], "x", "Expected seven."),
    "finite_number": (Annotated[int, LAX], Decimal("Infinity"), "Expected a finite number."),
    "float_parsing": (Annotated[float, LAX], "x", "Expected a number."),
    "float_type": (float, "1", "Expected a number."),
    "frozen_set_type": (frozenset[int], 5, "Expected a list."),
    "greater_than_equal": (Annotated[int, Field(ge=2)], 1, "Expected at least 2."),
    "int_from_float": (Annotated[int, LAX], 1.5, "Expected a whole number."),
    "int_parsing": (Annotated[int, LAX], "1,5", "Expected a whole number."),
    "int_parsing_size": (Annotated[int, LAX], "9" * 5000, "Expected a whole number."),
    "int_type": (int, "1", "Expected a whole number."),
    "less_than": (Annotated[int, Field(lt=2)], 2, "Expected less than 2."),
    "less_than_equal": (Annotated[int, Field(le=2)], 3, "Expected at most 2."),
    "list_type": (list[int], {}, "Expected a list."),
    "model_type": (Item, 5, "Expected an object."),
    "string_pattern_mismatch": (
        Annotated[str, line(9)],
        "a\nb",
        "Control characters and broken Unicode are not allowed.",
    ),
    "string_too_long": (Annotated[str, line(3)], "abcd", "At most 3 characters."),
    "string_too_short": (Annotated[str, line(3)], "  ", "This may not be empty."),
    "string_type": (str, 5, "Expected a string."),
    "string_unicode": (Annotated[str, line(9)], "\ud800", "Control characters and broken Unicode are not allowed."),
    "text_too_short": (Annotated[str, text(9, least=3)], "ab", "Expected at least 3 characters."),
    "too_long": (Annotated[list[int], Field(max_length=1)], [1, 2], "Expected at most 1, got 2."),
    "too_short": (Annotated[list[int], Field(min_length=1)], [], "Expected at least 1, got 0."),
    "tuple_type": (tuple[int, ...], 5, "Expected a list."),
    "uuid_parsing": (Annotated[UUID, LAX], "x", "Expected an id, as in 0192e4a0-7c1e-7d2a-9b3c-4d5e6f708192."),
    "value_error": (Annotated[int, AfterValidator(refuse)], 5, "5 is not wanted."),
}


def test_every_text_has_a_value_that_causes_it() -> None:
    assert REFUSED.keys() == TEXTS.keys()


@pytest.mark.parametrize("kind", REFUSED)
def test_the_text_says_what_is_allowed(kind: str) -> None:
    hint, value, text = REFUSED[kind]

    assert errors(of(hint), {"field": value}) == [("field", text)]


@pytest.mark.parametrize(
    ("hint", "value"),
    [
        (int, True),
        (int, 1.0),
        (int, Decimal(1)),
        (int, "1"),
        (str, 1),
        (str, b"x"),
        (bool, 1),
        (bool, "true"),
        (Decimal, "1"),
        (Decimal, True),
        (Decimal, Decimal("NaN")),
        (Decimal, Decimal("Infinity")),
        (list[int], (True,)),
        (list[int], ["1"]),
    ],
)
def test_no_value_is_converted_into_another_type(hint: Any, value: Any) -> None:
    assert [field.split(".")[0] for field, _ in errors(of(hint), {"field": value})] == ["field"]


@pytest.mark.parametrize("digits", [4000, 5000, 100_000])
@pytest.mark.parametrize("hint", [int, str, bool, COUNT, Item, Literal["a"], Colour, list[int], Decimal | None])
def test_a_number_of_thousands_of_digits_is_an_error_of_its_field(hint: Any, digits: int) -> None:
    data = parse_json(b'{"field": %s, "other": 1}' % (b"9" * digits))
    if hint in (int, Decimal | None):
        hint = Annotated[hint, Field(le=10**9)]

    assert [field for field, _ in errors(of(hint), data)] == ["field", "other"]


def test_every_error_is_reported_with_its_path() -> None:
    body = {"items": [{"name": "a", "count": 0}, 5, {"count": 3, "colour": "green"}], "mode": "x", "notes": {"a": "b"}}

    assert errors(Parcel, body) == [
        ("items.0.count", "Expected a whole number from 1 to 9."),
        ("items.1", "Expected an object."),
        ("items.2.name", "This field is required."),
        ("items.2.colour", "Expected one of red, blue."),
        ("mode", "Expected one of slow, fast."),
        ("notes.a", "Expected a whole number."),
    ]


def test_a_missing_field_says_what_it_may_contain() -> None:
    assert errors(Item, {"name": "a"}) == [("count", "This field is required: a whole number from 1 to 9.")]


def test_a_row_that_is_null_is_no_missing_field() -> None:
    assert errors(Parcel, {"items": [None]}) == [("items.0", "Expected an object.")]


def test_null_is_the_same_as_leaving_out_a_required_field() -> None:
    assert errors(Item, {"name": None, "count": 1}) == [("name", "This field is required.")]


def test_known_fields_are_listed_once_and_unknown_ones_each() -> None:
    rows = [{"name": "a", "count": 1, "colur": 1} for _ in range(3)]

    assert errors(Parcel, {"items": rows, "Mode": 1}) == [
        ("items.0.colur", "Unknown field. Known fields: name, count, colour."),
        ("items.1.colur", "Unknown field."),
        ("items.2.colur", "Unknown field."),
        ("Mode", "Unknown field. Known fields: items, mode, notes."),
    ]


def test_twenty_unknown_fields_of_an_item_are_named_and_the_others_counted() -> None:
    known = {"name": "a", "count": 1}
    rows = [{**known, **{f"x{number}": 1 for number in range(23)}}, {**known, "y": 1}]

    named = errors(Parcel, {"items": rows, "mode": "x"})

    assert [field for field, _ in named] == [f"items.0.x{number}" for number in range(20)] + [
        *("items.1.y", "mode", "items.0"),
    ]
    assert named[-1] == ("items.0", "3 more unknown fields.")


def test_a_thousand_unknown_fields_of_an_answer_are_named() -> None:
    row = {"name": "a", "count": 1, **{f"x{number}": 1 for number in range(20)}}

    named = errors(Parcel, {"items": [row] * 52})

    assert sum("Unknown field." in text for _, text in named) == 1000
    assert named[1000:] == [("items.50", "20 unknown fields."), ("items.51", "20 unknown fields.")]


def test_a_name_from_the_caller_is_cut_and_made_storable() -> None:
    (field, _), *_ = errors(Parcel, {"items": [], "\0" + "x" * 200: 1})

    assert field == "?" + "x" * 79


@pytest.mark.parametrize("name", ["\ud800", "a\udc00b"])
def test_a_name_with_half_a_surrogate_pair_is_an_error(name: str) -> None:
    assert errors(Parcel, {"items": [], name: 1})


def test_a_name_in_a_dictionary_with_half_a_surrogate_pair_is_an_error_of_that_name() -> None:
    limited = of(dict[Annotated[str, line(9)], int])

    assert errors(limited, {"field": {"\ud800": 1}}) == [
        ("field.\ufffd\ufffd\ufffd", "Control characters and broken Unicode are not allowed.")
    ]


def test_the_errors_of_a_message_are_one_sentence_each() -> None:
    with pytest.raises(InvalidInput) as caught:
        Item.read({"count": 0})

    assert caught.value.lines == ["name: This field is required.", "count: Expected a whole number from 1 to 9."]
    assert str(caught.value) == "; ".join(caught.value.lines)


def test_a_body_that_is_no_object_has_an_error_without_a_path() -> None:
    for body in (None, [], 5, "x", True):
        assert errors(Item, body) == [("", "Expected an object.")]


def test_a_validator_says_its_own_text_even_with_braces_in_it() -> None:
    def check(value: str) -> str:
        raise invalid(f"{{{value}}} is no placeholder.")

    assert errors(of(Annotated[str, AfterValidator(check)]), {"field": "x"}) == [("field", "{x} is no placeholder.")]
