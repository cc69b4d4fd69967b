"""How many examples the properties of the PDF render worker's document run with."""

import inspect
import re
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from tests.pdfjobs import test_properties, test_properties_files
from tests.pdfjobs.documents import test_documents, test_escaping, test_images
from tests.support.examples import HUNDRED, is_quick

MODULES = [test_properties, test_properties_files, test_documents, test_escaping, test_images]
TAG = re.compile(r"Feature: pdf-render-worker, Property (\d+):")


def tagged_tests(module: ModuleType) -> list[tuple[int, Callable[..., Any]]]:
    tests = [value for name, value in vars(module).items() if name.startswith("test_") and inspect.isfunction(value)]
    tags = [(TAG.match(test.__doc__ or ""), test) for test in tests]
    return [(int(tag[1]), test) for tag, test in tags if tag]


PROPERTIES = [tagged_test for module in MODULES for tagged_test in tagged_tests(module)]


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
