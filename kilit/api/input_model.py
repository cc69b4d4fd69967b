"""Input of any kind (a request, a CSV line, a file) is declared once, as a pydantic model.

The declaration validates, makes the texts of errors, and is what OpenAPI shows. Errors of pydantic get their text from
TEXTS; a type can say with `Expected` what it allows.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from itertools import islice
from types import NoneType
from typing import Annotated, Any, ClassVar, Literal, Self, get_args, get_origin

from django.utils.translation import gettext, gettext_noop, ngettext
from pydantic import (
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    TypeAdapter,
    ValidationError,
    WithJsonSchema,
)
from pydantic.fields import FieldInfo
from pydantic_core import PydanticCustomError, core_schema
from typing_extensions import TypedDict  # pydantic reads those of `typing` from Python 3.12 on only

from kilit.lock.text import CONTROL_CHARS, SURROGATES, UNSTORABLE_CHARS, read_digits

# Pydantic's patterns cannot contain surrogates; a text with one is refused before as `string_unicode`.
NO_CONTROL_CHARS = f"^{CONTROL_CHARS.pattern.replace('[', '[^').replace(SURROGATES, '')}*$"
NO_NUL = r"^[^\x00]*$"
LONGEST_NAME = 80  # characters of a caller's own name that are shown in a path
KEY = "[key]"  # pydantic's last step on the way to an error of a name itself
MOST_UNKNOWN, MOST_UNKNOWN_OF_ITEM = 1_000, 20  # unknown fields that an answer names

Path = Sequence[str | int]
Time = Annotated[str, WithJsonSchema({"type": "string", "format": "date-time"})]
Date = Annotated[str, WithJsonSchema({"type": "string", "format": "date"})]
Id = Annotated[str, WithJsonSchema({"type": "string", "format": "uuid"})]

# Ids carry times, and these fit into them.
EARLIEST, LATEST = datetime(2000, 1, 1, tzinfo=UTC), datetime(2200, 1, 1, tzinfo=UTC)

# By pydantic's types of errors; each error fills in its own limits.
TEXTS = {
    "bool_parsing": gettext_noop("Expected true or false."),
    "bool_type": gettext_noop("Expected true or false."),
    "dict_type": gettext_noop("Expected an object."),
    "expected": gettext_noop("Expected {what}."),
    "finite_number": gettext_noop("Expected a finite number."),
    "float_parsing": gettext_noop("Expected a number."),
    "float_type": gettext_noop("Expected a number."),
    "frozen_set_type": gettext_noop("Expected a list."),
    "greater_than_equal": gettext_noop("Expected at least {ge}."),
    "int_from_float": gettext_noop("Expected a whole number."),
    "int_parsing": gettext_noop("Expected a whole number."),
    "int_parsing_size": gettext_noop("Expected a whole number."),
    "int_type": gettext_noop("Expected a whole number."),
    "less_than": gettext_noop("Expected less than {lt}."),
    "less_than_equal": gettext_noop("Expected at most {le}."),
    "list_type": gettext_noop("Expected a list."),
    "model_type": gettext_noop("Expected an object."),
    "string_pattern_mismatch": gettext_noop("Control characters and broken Unicode are not allowed."),
    "string_too_long": gettext_noop("At most {max_length} characters."),
    "string_too_short": gettext_noop("This may not be empty."),
    "string_type": gettext_noop("Expected a string."),
    "string_unicode": gettext_noop("Control characters and broken Unicode are not allowed."),
    "text_too_short": gettext_noop("Expected at least {min_length} characters."),
    "too_long": gettext_noop("Expected at most {max_length:,}, got {actual_length:,}."),
    "too_short": gettext_noop("Expected at least {min_length}, got {actual_length}."),
    "tuple_type": gettext_noop("Expected a list."),
    "uuid_parsing": gettext_noop("Expected an id, as in 0192e4a0-7c1e-7d2a-9b3c-4d5e6f708192."),
    "value_error": "{error}",
}


class FieldError(TypedDict):
    """An invalid field; `field` is its path, as in `parts.0.quantity`."""

    field: str
    message: str


class InvalidInput(ValueError):
    """What is wrong with an input; `count` is the number of all errors, also of those beyond `most_errors`."""

    def __init__(self, errors: list[FieldError], count: int) -> None:
        self.count = count
        self.errors, self.lines = errors, [format_error(error) for error in errors]
        super().__init__("; ".join(self.lines))


class InputModel(BaseModel):
    """No value is converted. An unknown name is an error, because it is likely a typo."""

    # A traceback must not contain what was sent, which may be personal.
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, hide_input_in_errors=True, defer_build=True)
    most_errors: ClassVar[int | None] = None  # that are reported
    refusal: ClassVar[type[InvalidInput]] = InvalidInput
    examples: ClassVar[Mapping[str, Any]] = {}  # by their titles, for OpenAPI

    @classmethod
    def read(cls, data: object, *, context: Mapping[str, object] | None = None) -> Self:
        """Return the instance, or raise InvalidInput with every error."""
        try:
            return cls.model_validate(data, context=context)
        except ValidationError as error:
            raise cls.refusal(field_errors(error, cls), error.error_count()) from None


class LenientInput(InputModel):
    """The base of queries, and of what scripts send: unknown keys are ignored, as deployed scripts expect."""

    model_config = ConfigDict(strict=False, extra="ignore", coerce_numbers_to_str=True)


def _only_digits(value: object) -> object:
    if isinstance(value, str) and read_digits(value.removeprefix("-")) is None:
        raise invalid(gettext("Expected a whole number."))
    return value


# For numbers in a query, after `Field`: before it, the description of the API would lose the limits.
ONLY_DIGITS = BeforeValidator(_only_digits)
PageLimit = Annotated[int, Field(ge=1, le=200), ONLY_DIGITS]


@dataclass(frozen=True)
class Expected:
    """For `Annotated`: what a type allows. Whatever is wrong, the error is “Expected …”."""

    text: str

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> core_schema.CoreSchema:
        what: dict[str, str | int | float] = {"what": self.text}
        return core_schema.custom_error_schema(
            handler(source), "expected", custom_error_message="{what}", custom_error_context=what
        )


Moment = Annotated[
    AwareDatetime,
    Field(strict=False, ge=EARLIEST, le=LATEST),
    Expected("a time with an offset, as in 2026-11-16T09:30:00Z"),
]


@dataclass(frozen=True)
class ShownAs:
    """For `Annotated`: the type that OpenAPI shows, where another one validates."""

    hint: Any

    def __get_pydantic_json_schema__(self, schema: object, handler: Any) -> object:
        return handler(TypeAdapter(self.hint).core_schema)


def line(longest: int) -> StringConstraints:
    """Return the limits of a text that is trimmed, not empty, and of one line."""
    return StringConstraints(strip_whitespace=True, min_length=1, max_length=longest, pattern=NO_CONTROL_CHARS)


def text(longest: int, *, least: int = 0) -> StringConstraints:
    """Return the limits of a text that is trimmed; line breaks are kept, and only what cannot be stored is refused."""
    return StringConstraints(strip_whitespace=True, min_length=least, max_length=longest, pattern=NO_NUL)


def invalid(text: str) -> PydanticCustomError:
    return PydanticCustomError("invalid", "{text}", {"text": text})


class UnknownFields:
    """Counts the unknown fields that an answer names, so that it cannot become much larger than its request.

    A caller that reads the items of a request one by one passes the same to each.
    """

    def __init__(self) -> None:
        self.left = MOST_UNKNOWN

    def take(self, number: int) -> int:
        """Return how many of an item's unknown fields are named."""
        named = min(number, MOST_UNKNOWN_OF_ITEM, self.left)
        self.left -= named
        return named


def field_errors(
    error: ValidationError, model: type[InputModel], *, unknown: UnknownFields | None = None
) -> list[FieldError]:
    return [field_error for _, field_error in located_errors(error, model, unknown=unknown)]


def located_errors(
    error: ValidationError, model: type[InputModel], *, unknown: UnknownFields | None = None
) -> Iterator[tuple[Path, FieldError]]:
    return islice(_located_errors(error, model, unknown or UnknownFields()), model.most_errors)


def _located_errors(
    error: ValidationError, model: type[InputModel], unknown: UnknownFields
) -> Iterator[tuple[Path, FieldError]]:
    errors = error.errors(include_url=False)
    numbers = Counter(detail["loc"][:-1] for detail in errors if detail["type"] == "extra_forbidden")
    named = {item: unknown.take(number) for item, number in numbers.items()}
    left, listed = Counter(named), set[type[BaseModel]]()
    for detail in errors:
        path = detail["loc"]
        if detail["type"] == "extra_forbidden":
            if not left[path[:-1]]:
                continue
            left[path[:-1]] -= 1
        yield path, {"field": format_path(path), "message": _text(detail, model, listed)}
    for item, number in numbers.items():
        if rest := number - named[item]:
            text = ngettext("%(number)s unknown field.", "%(number)s unknown fields.", rest)
            if named[item]:
                text = ngettext("%(number)s more unknown field.", "%(number)s more unknown fields.", rest)
            text %= {"number": f"{rest:,}"}
            yield item, {"field": format_path(item), "message": text}


def format_error(error: FieldError) -> str:
    return f"{error['field']}: {error['message']}" if error["field"] else error["message"]


def format_path(path: Path) -> str:
    """Format a path. Names come from the caller: each is cut, and what cannot be stored becomes `?`."""
    return ".".join([UNSTORABLE_CHARS.sub("?", str(name)[:LONGEST_NAME]) for name in path if name != KEY])


def _text(detail: Any, model: type[BaseModel], listed: set[type[BaseModel]]) -> str:
    kind, path = detail["type"], detail["loc"]
    if kind == "extra_forbidden":
        owner, _ = _at(model, path[:-1])
        if owner in listed:  # the same typo is in every row, and a thousand lists would hide the other errors
            return gettext("Unknown field.")
        listed.add(owner)
        known = gettext("Known fields: %(names)s.") % {"names": ", ".join(_fields(owner))}
        return f"{gettext('Unknown field.')} {known}"
    if kind == "missing" or (
        detail["input"] is None and kind not in ("invalid", "expected") and _is_required(model, path)
    ):
        _, notes = _at(model, path)
        expected = [note.text for note in notes if isinstance(note, Expected)]
        required = gettext("This field is required.")
        return f"{required[:-1]}: {expected[0]}." if expected else required
    if kind in ("enum", "literal_error"):
        hint, _ = _at(model, path)
        words = get_args(hint) if get_origin(hint) is Literal else [member.value for member in hint]
        return gettext("Expected one of %(words)s.") % {"words": ", ".join(map(str, words))}
    if kind == "string_unicode" and _is_model(_at(model, path)[0]):
        return gettext("A field's name contains broken Unicode.")
    if kind == "string_too_short" and detail["ctx"]["min_length"] > 1:
        kind = "text_too_short"
    return _translated(kind, detail.get("ctx", {})) if kind in TEXTS else str(detail["msg"])


def _translated(kind: str, limits: Mapping[str, Any]) -> str:
    """Return a sentence with its limits; what people type in forms is translated as a whole."""
    sentence = TEXTS[kind].format(**limits)
    whole = gettext(sentence)
    return whole if whole != sentence else gettext(TEXTS[kind]).format(**limits)


def _is_required(model: type[BaseModel], path: Path) -> bool:
    owner, _ = _at(model, path[:-1])
    return bool(path) and _is_model(owner) and _fields(owner)[str(path[-1])].is_required()


def _at(model: type[BaseModel], path: Path) -> tuple[Any, Sequence[Any]]:
    """Return the type at a path, and what `Annotated` adds to it."""
    hint: object = model
    notes: Sequence[object] = ()
    for step in path:
        if step == KEY:
            hint, notes = str, ()
        elif _is_model(hint):
            field = _fields(hint)[str(step)]
            hint, notes = unwrap(field.annotation, field.metadata)
        else:  # a list's items, or a dict's values
            hint, notes = unwrap([arg for arg in get_args(hint) if arg is not Ellipsis][-1])
    return hint, notes


def _is_model(hint: object) -> bool:
    return isinstance(hint, type) and issubclass(hint, BaseModel)


@cache
def _fields(model: type[BaseModel]) -> dict[str, FieldInfo]:
    return {field.alias or name: field for name, field in model.model_fields.items()}


def unwrap(hint: Any, notes: Sequence[Any] = ()) -> tuple[Any, Sequence[Any]]:
    """Return the type without `Annotated` and None, and what `Annotated` adds to it."""
    while True:
        if get_origin(hint) is Annotated:
            hint, notes = hint.__origin__, (*notes, *hint.__metadata__)
        elif NoneType in get_args(hint):
            (hint,) = (arg for arg in get_args(hint) if arg is not NoneType)
        else:
            return hint, notes
