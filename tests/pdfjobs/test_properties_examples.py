"""How many examples the properties of the PDF render worker's document run with."""

import importlib
import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.examples import HUNDRED, is_quick

HERE = Path(__file__).parent
TAG = re.compile(r"Feature: pdf-render-worker, Property (\d+):")


def tagged_tests(path: Path) -> list[tuple[int, Callable[..., Any]]]:
    module = importlib.import_module(".".join(path.relative_to(HERE.parent.parent).with_suffix("").parts))
    tests = [value for name, value in vars(module).items() if name.startswith("test_") and inspect.isfunction(value)]
    tags = [(TAG.match(test.__doc__ or ""), test) for test in tests]
    return [(int(tag[1]), test) for tag, test in tags if tag]


FILES = [path for path in sorted(HERE.rglob("test_*.py")) if TAG.search(path.read_text())]
PROPERTIES = [tagged_test for path in FILES for tagged_test in tagged_tests(path)]


def test_each_of_the_ten_properties_has_a_test() -> None:
    assert {number for number, _ in PROPERTIES} == set(range(1, 11))


@pytest.mark.skipif(is_quick(), reason="make quick runs few examples")
@pytest.mark.parametrize("test", [pytest.param(test, id=test.__name__) for _, test in PROPERTIES])
def test_a_property_runs_at_least_a_hundred_examples(test: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    examples = []
    fixtures = dict.fromkeys(inspect.signature(test).parameters)
    monkeypatch.setattr(test.hypothesis, "inner_test", lambda **example: examples.append(example))

    test(**fixtures)

    assert len(examples) >= HUNDRED
