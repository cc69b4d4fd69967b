"""The errors of an invalid request are limited in number and length."""

from typing import Any

import pytest

from pdfjobs.job_request import JobRequestError, parse_job_request, unstorable_errors
from pdfjobs.rendering import OptionsError, PageOptions
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
    with pytest.raises(JobRequestError) as refused:
        parse_job_request(body() | change)

    assert len(refused.value.errors) <= 60
    assert max(map(len, refused.value.errors)) < 2_000


@pytest.mark.parametrize("top", [10**400, -(10**400), 1e308, float("nan"), float("inf"), True])
def test_a_number_beyond_all_bounds_is_refused_in_words(top: Any) -> None:
    with pytest.raises(OptionsError, match=r"options\.margin\.top: .* is not a number from 0 to 60"):
        PageOptions.read({"margin": {"top": top}})


def test_a_path_names_the_place() -> None:
    assert unstorable_errors({"lines": [{"a": "fine"}, {"a": "\x00"}]}, "variables") == [
        "variables.lines.1.a: contains a NUL or an unpaired surrogate."
    ]


@pytest.mark.django_db
@pytest.mark.usefixtures("worker_lives")
def test_an_unknown_name_that_is_not_text_is_refused_in_words(api) -> None:
    answer = api.post('{"template_name": "invoice", "variables": {}, "a\\ud800\\u0000b": 1}')

    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "VALIDATION")
    assert "a??b" in [fault["field"] for fault in answer.json()["error"]["fields"]]
