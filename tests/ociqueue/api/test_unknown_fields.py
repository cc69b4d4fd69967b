"""Unknown fields are named, but an answer never becomes much larger than its request."""

import pytest

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(("path", "items"), [("conversions", "conversions"), ("adjustments", "adjustments")])
def test_an_answer_names_few_of_many_unknown_fields(api, site, path: str, items: str) -> None:
    odd = {f"unknown-{number}-{'x' * 100}": 1 for number in range(40)}

    answer = api.post(f"oci/{path}", {"siteId": site.public_id, items: [odd] * 200})

    messages = [error["message"] for each in answer.json()["results"] for error in each["errors"]]
    assert sum(message.startswith("Unknown field.") for message in messages) == 1000
    assert messages.count("20 more unknown fields.") == 50
    assert messages.count("40 unknown fields.") == 150
    assert len(answer.content) < 500_000  # the request has more
