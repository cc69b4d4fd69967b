"""No field of any request is answered in pydantic's own words."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from django.urls import get_resolver
from pydantic import ValidationError

from kilit.api.input_model import InputModel, field_errors
from ociqueue.models import Site
from ociqueue.states import SyncMethod

TEXTS = ("", "x", "2026-13-45", "2026-02-30T10:00:00Z", "9" * 30, "1e999", "\ud800", "a\x00b", "x" * 5000)
BAD = (
    *TEXTS,
    *(None, True, -1, 5, 10**30, 1.5, Decimal("1.5"), Decimal("Infinity")),
    *([], [None], ["x"] * 3, [{}], {}, {"x": None}, {"\ud800": 1}, {"x": "2026-13-45"}),
)
CONTEXT = {
    "now": datetime.now(UTC),
    "site": Site(accepts_identifiers=True, sync_method=SyncMethod.API),
    "has_hash": False,
    "thicknesses": set(),
    "part_ids": set(),
}
OTHERS_WORDS = re.compile(
    r"(Input|Value error|String|List|Unable|Decimal|Datetime|Date|Time|URL|UUID|Dictionary|Object|Field required|Extra|"
    r"Tuple|Set|Assertion|Keys|Number|Bytes)\b.*\b(should|must|error|required|permitted|unable)\b|Unable to",
)


def requests() -> Iterator[type[InputModel]]:
    """Yield the bodies and queries of all operations, and the messages that these are made of."""
    assert get_resolver().url_patterns  # loads every view
    found = list(InputModel.__subclasses__())
    for model in found:
        found += [each for each in model.__subclasses__() if each not in found]
    yield from (model for model in found if not model.__module__.startswith("tests"))


def errors(model: type[InputModel], name: str, value: Any) -> list[str]:
    try:
        model.model_validate({name: value}, context=CONTEXT)
    except ValidationError as error:
        return [each["message"] for each in field_errors(error, model)]
    return []


@pytest.mark.parametrize(
    "model", sorted(requests(), key=lambda each: each.__qualname__), ids=lambda each: each.__name__
)
def test_what_is_wrong_with_a_field_is_said_in_our_words(model: type[InputModel]) -> None:
    names = [field.alias or name for name, field in model.model_fields.items()]

    is_of_texts = model.__name__.endswith(("Query", "Import"))  # a query, or a form
    bad = TEXTS if is_of_texts else BAD

    said = {(name, text) for name in names for value in bad for text in errors(model, name, value)}

    assert [each for each in said if OTHERS_WORDS.match(each[1])] == []
