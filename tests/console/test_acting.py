"""An operator's action from the question to the page after it: which rows, and where one came from (CON-4, CON-9)."""

from typing import Any
from urllib.parse import urlencode

import pytest
from django.test import Client
from django.utils.html import escape

from ociqueue.models import Conversion
from tests.console.conftest import make_conversions, make_site

pytestmark = pytest.mark.django_db

LIST = "/admin/ociqueue/conversion/"
FILTERS = "status=FAILED&since=24&p=2"
KEPT = urlencode({"_changelist_filters": FILTERS})


@pytest.fixture
def operator(make_person) -> Client:
    """Log in an operator of a site with three failed rows."""
    site = make_site()
    make_conversions(site, badly=3)
    return make_person(sites=(site,))


@pytest.fixture
def row(operator) -> Conversion:
    return Conversion.objects.latest("pk")


def send(client: Client, asked: Any, **fields: Any) -> Any:
    """Confirm what a page asks, as its form does."""
    return client.post(asked.context["post_to"], {**asked.context["kept"], "reason": "mended", **fields}, follow=True)


def said(answer: Any) -> list[str]:
    return [str(message) for message in answer.context["messages"]]


def test_acting_on_a_row_keeps_the_filters_of_the_list_it_was_opened_from(operator, row) -> None:
    opened = operator.get(f"{LIST}{row.pk}/change/?{KEPT}")

    (way, *_) = [button["path"] for button in opened.context["actions_detail"]]
    asked = operator.get(way)
    again = send(operator, asked, reason="")
    done = send(operator, again)

    for page in (asked, again):
        assert page.context["back"] == f"{LIST}{row.pk}/change/?{KEPT}"
    assert said(done) == ["Retried 1 of 1."]
    assert done.redirect_chain == [(f"{LIST}{row.pk}/change/?{KEPT}", 302)]
    assert escape(f"{LIST}?{FILTERS}") in done.content.decode(), "and from there on to the list"
