"""Reads the file of rules; an error names the line."""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from types import MappingProxyType
from typing import Any

from orchestrator.orders.order import MODES, PlateSize

EXPECTED_XML = ("job", "batch")
TIMEOUTS = ("optiXmlMinutes", "osiAckMinutes")
A_DAY_OF_MINUTES = 24 * 60
KEYS = (
    "cm_to_mm_multiplier",
    "trimByThickness",
    "backingThicknesses",
    "edgeMapping",
    "grainMapping",
    "defaultPlateSize",
    "retry_count_max",
    "retry_backoff_minutes",
    "optiModeDefault",
    "timeouts",
    "ackMode",
    "mergePolicy",
    "xml_expected",
)
OPTIONAL = ("defaultPlateSize", "ackMode", "mergePolicy", "xml_expected")


@dataclass(frozen=True)
class Rules:
    """The rules in use. `file_error` is set while the file on disk is invalid and these are the last valid ones."""

    cm_to_mm_multiplier: Decimal
    trim_by_thickness: Mapping[Decimal, Decimal]
    backing_thicknesses: frozenset[Decimal]
    edge_mapping: Mapping[str, Decimal | None]
    grain_mapping: Mapping[int, int]
    default_plate_size: PlateSize | None
    retry_count_max: int
    retry_backoff: tuple[timedelta, ...]
    opti_mode_default: str
    opti_xml_after: timedelta  # how long OptiPlanning may take
    osi_ack_after: timedelta  # how long the saw may take
    xml_expected: str
    file_error: str | None = None


class InvalidRules(ValueError):  # noqa: N818 - it is the answer about a file
    """The message names the line."""


def read_rules(content: bytes) -> Rules:
    try:
        text = content.decode("utf-8-sig")
        data = json.loads(
            text, parse_float=Decimal, parse_constant=_refuse_constant, object_pairs_hook=_refuse_duplicates
        )
    except json.JSONDecodeError as error:
        raise InvalidRules(f"line {error.lineno}: {error.msg}.") from None
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InvalidRules(f"line {line}: not UTF-8.") from None
    except RecursionError:
        raise InvalidRules("nested too deeply.") from None
    except _DuplicateKey as duplicate:
        raise InvalidRules(f"line {_line(text, duplicate.key, nth=2)}: {duplicate.key} appears twice.") from None
    except ValueError as error:
        raise InvalidRules(f"{error}.") from None
    return _Book(text, data).rules()


class _DuplicateKey(Exception):  # noqa: N818 - carries a key
    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = key


def _refuse_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise _DuplicateKey(key)
        found[key] = value
    return found


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number")


def _line(text: str, *keys: str, nth: int = 1) -> int:
    at = 0
    for key in keys:
        places = [m.start() for m in re.finditer(re.escape(json.dumps(key, ensure_ascii=False)) + r"\s*:", text[at:])]
        at += places[min(nth, len(places)) - 1] if places else 0
    return text.count("\n", 0, at) + 1


class _Book:
    """One file being read; every error knows its line."""

    def __init__(self, text: str, data: Any) -> None:
        self.text, self.data = text, data

    def rules(self) -> Rules:
        if not isinstance(self.data, dict):
            raise InvalidRules("line 1: expected an object.")
        self._refuse_wrong_keys()
        timeouts = self._timeouts()
        self.take("ackMode", _one_of(("file_move",)))
        self.take("mergePolicy", _no_merging)
        return Rules(
            cm_to_mm_multiplier=self.take("cm_to_mm_multiplier", _positive),
            trim_by_thickness=self.mapping("trimByThickness", _size_key, _not_negative),
            backing_thicknesses=frozenset(self.take("backingThicknesses", _list_of(_positive))),
            edge_mapping=self.mapping("edgeMapping", str, lambda edge: None if edge is None else _positive(edge)),
            grain_mapping=self.mapping("grainMapping", _grain_key, _whole(least=0, most=3)),
            default_plate_size=self.take("defaultPlateSize", _plate),
            retry_count_max=self.take("retry_count_max", _whole(least=0, most=100)),
            retry_backoff=self._backoff(),
            opti_mode_default=self.take("optiModeDefault", _one_of(MODES)),
            opti_xml_after=timeouts["optiXmlMinutes"],
            osi_ack_after=timeouts["osiAckMinutes"],
            xml_expected=self.take("xml_expected", _one_of(EXPECTED_XML), default="job"),
        )

    def take(self, key: str, read: Callable[[Any], Any], *, default: Any = None) -> Any:
        return self._read(read, self.data[key], key) if key in self.data else default

    def mapping(self, key: str, read_key: Callable[[str], Any], read: Callable[[Any], Any]) -> Mapping[Any, Any]:
        given = self.take(key, _object)
        found: dict[Any, Any] = {}
        for name, value in given.items():
            read_name = self._read(read_key, name, key, name)
            if read_name in found:
                raise self._wrong(f"{name} appears twice", key, name)  # as 18 and 18.0
            found[read_name] = self._read(read, value, key, name)
        return MappingProxyType(found)

    def _read(self, read: Callable[[Any], Any], value: Any, *keys: str) -> Any:
        try:
            return read(value)
        except ValueError as error:
            raise self._wrong(str(error), *keys) from None

    def _wrong(self, message: str, *keys: str) -> InvalidRules:
        return InvalidRules(f"line {_line(self.text, *keys)}: {'.'.join(keys)}: {message}.")

    def _timeouts(self) -> Mapping[str, timedelta]:
        timeouts = self.mapping("timeouts", _one_of(TIMEOUTS), _minutes)
        if len(timeouts) < len(TIMEOUTS):
            raise self._wrong("needs optiXmlMinutes and osiAckMinutes", "timeouts")
        return timeouts

    def _backoff(self) -> tuple[timedelta, ...]:
        backoff = tuple(self.take("retry_backoff_minutes", _list_of(_minutes)))
        if len(backoff) < self.data["retry_count_max"]:
            raise self._wrong("needs a time for each of retry_count_max retries", "retry_backoff_minutes")
        return backoff

    def _refuse_wrong_keys(self) -> None:
        for key in self.data:
            if key not in KEYS:
                raise self._wrong(f"unknown; known keys: {', '.join(KEYS)}", key)
        if missing := [key for key in KEYS if key not in self.data and key not in OPTIONAL]:
            raise InvalidRules(f"line 1: missing keys: {', '.join(missing)}.")


def _number(value: Any) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        raise ValueError("expected a number")  # noqa: TRY004 - the message is shown to the operator
    return Decimal(value)


def _positive(value: Any) -> Decimal:
    if not 0 < _number(value) <= 10_000:  # noqa: PLR2004 - far beyond any board
        raise ValueError("expected a number above 0, up to 10000")
    return Decimal(value)


def _not_negative(value: Any) -> Decimal:
    return Decimal(0) if _number(value) == 0 else _positive(value)


def _whole(*, least: int, most: int) -> Callable[[Any], int]:
    def read(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise ValueError(f"expected a whole number from {least} to {most}")
        return value

    return read


def _minutes(value: Any) -> timedelta:
    if not 0 < _number(value) <= A_DAY_OF_MINUTES:
        raise ValueError(f"expected minutes above 0, up to {A_DAY_OF_MINUTES}")
    return timedelta(minutes=float(value))


def _one_of(choices: Iterable[str]) -> Callable[[Any], str]:
    def read(value: Any) -> str:
        if not isinstance(value, str) or value not in choices:
            raise ValueError(f"expected one of {', '.join(choices)}")
        return value

    return read


def _list_of(read: Callable[[Any], Any]) -> Callable[[Any], list[Any]]:
    def read_all(value: Any) -> list[Any]:
        if not isinstance(value, list) or not value:
            raise ValueError("expected a non-empty list")
        return [read(inner) for inner in value]

    return read_all


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict) or not value:
        raise ValueError("expected a non-empty object")
    return value


def _size_key(key: str) -> Decimal:
    if not re.fullmatch(r"[0-9]{1,4}(\.[0-9]{1,4})?", key, re.ASCII):
        raise ValueError("expected a thickness in millimetres")
    return Decimal(key)


def _grain_key(key: str) -> int:
    if key not in ("0", "1", "2", "3"):
        raise ValueError("expected a grain from 0 to 3")
    return int(key)


def _plate(value: Any) -> PlateSize | None:
    if value is None:
        return None
    if not isinstance(value, dict) or value.keys() != {"width_mm", "height_mm"}:
        raise ValueError("expected width_mm and height_mm")
    return PlateSize(width_mm=_positive(value["width_mm"]), height_mm=_positive(value["height_mm"]))


def _no_merging(value: Any) -> None:
    if not isinstance(value, dict) or value.get("defaultDisabled") is not True:
        raise ValueError("parts are never merged, so defaultDisabled must be true")
