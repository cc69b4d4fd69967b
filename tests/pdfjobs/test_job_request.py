"""The errors of an invalid request are limited in number and length."""

import gc
import json
from decimal import Decimal
from typing import Any

import pytest

from kilit.api.input_model import InvalidInput
from kilit.api.json_reader import parse_json
from pdfjobs.job_request import as_stored, parse_job_request
from pdfjobs.rendering import PageOptions
from pdfjobs.schemas import PdfRequest
from tests.support.pdf_jobs import body

LONG = "x" * 10_000


def deep(inner: Any, *, names: int = 15) -> Any:
    for _ in range(names):
        inner = {LONG: inner}
    return inner


def many(value: Any) -> dict[str, Any]:
    return {f"{number}{LONG[:100]}": value for number in range(5_000)}


WRONG_ALL_OVER: list[dict[str, Any]] = [
    {"variables": deep(["\x00"] * 20_000)},
    {"variables": {f"{number}\x00": 1 for number in range(20_000)}},
    {"variables": deep([float("inf")] * 20_000)},
    {"variables": deep([[1]] * 20_000, names=20)},
    {"variables": many(1)},
    {"options": deep(["\x00"] * 20_000)},
    {"options": many(1)},
    {"options": {"margin": many(1)}},
    many(1),
]


@pytest.mark.parametrize("change", WRONG_ALL_OVER, ids=range(len(WRONG_ALL_OVER)))
def test_faults_are_few_and_short_however_many_there_are(change: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput) as refused:
        parse_job_request(body() | change)

    assert len(refused.value.lines) <= 50
    assert max(map(len, refused.value.lines)) < 2_000


@pytest.mark.parametrize("top", [10**400, -(10**400), 1e308, float("nan"), float("inf"), Decimal("1e999999"), True])
def test_a_number_beyond_all_bounds_is_refused_in_words(top: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^margin\.top: Expected a number from 0 to 60\.$"):
        PageOptions.read({"margin": {"top": top}})


def test_faults_of_variables_and_options_are_named_together() -> None:
    with pytest.raises(InvalidInput) as refused:
        parse_job_request(body() | {"variables": {"lines": [{"quantity": True}]}, "options": {"tagged": 1}, "x": 1})

    assert "variables.lines.0.quantity: Expected a number from 0.0001 to 10000000, at most 4 decimals." in (
        refused.value.lines
    )
    assert refused.value.lines[-2:] == [
        "options.tagged: Expected true or false.",
        "x: Unknown field. Known fields: template_name, variables, options, priority, callbackUrl.",
    ]


def test_numbers_are_stored_as_the_database_returns_them() -> None:
    sent = parse_json(b'{"a": [120.50, 120.5, 1e2, -0.0, 7, "1.50"]}')

    assert json.dumps(as_stored(sent)) == '{"a": [120.5, 120.5, 100.0, 0.0, 7, "1.50"]}'


@pytest.mark.django_db
@pytest.mark.usefixtures("worker_lives")
@pytest.mark.parametrize("place", ['"a\\ud800\\u0000b": 1', '"options": {"a\\ud800\\u0000b": 1}'])
def test_a_name_that_is_not_text_is_refused_in_words(api, place: str) -> None:
    answer = api.post(f'{{"template_name": "invoice", "variables": {{}}, {place}}}')

    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "VALIDATION")
    assert "A field's name contains broken Unicode." in [fault["message"] for fault in answer.json()["error"]["fields"]]


def test_the_message_of_a_template_is_built_once(monkeypatch) -> None:
    """It takes longer than everything else that a request does before it is stored."""
    parse_job_request(body())
    gc.collect()
    monkeypatch.setattr(PdfRequest, "__class_getitem__", lambda _variables: pytest.fail("built again"))

    assert parse_job_request(body()).document.name == "invoice"
