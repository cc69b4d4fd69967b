"""An operator's action from the question to the page after it: which rows, and where one came from."""

from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils.html import escape

from ociqueue.models import Conversion
from tests.support.bulk_actions import said
from tests.support.dashboard import make_conversions, make_site, site_with_operator

pytestmark = pytest.mark.django_db

LIST = "/admin/ociqueue/conversion/"
FILTERS = "status=FAILED&since=24&p=2"
KEPT = urlencode({"_changelist_filters": FILTERS})


@pytest.fixture
def operator(db) -> Client:
    """Log in an operator of a site with three failed rows."""
    return site_with_operator(badly=3)[1]


@pytest.fixture
def row(operator) -> Conversion:
    return Conversion.objects.latest("pk")


def send(client: Client, asked: Any, **fields: Any) -> Any:
    """Confirm what a page asks, as its form does."""
    return client.post(asked.context["post_to"], {**asked.context["kept"], "reason": "fixed", **fields}, follow=True)


def test_acting_on_a_row_keeps_the_filters_of_the_list_it_was_opened_from(operator, row) -> None:
    opened = operator.get(f"{LIST}{row.pk}/change/?{KEPT}")

    reset = next(offer for offer in opened.context["offers"] if str(offer.title) == "Reset to queued")
    asked = operator.get(reset.href)
    again = send(operator, asked, reason="")
    done = send(operator, again)

    for page in (asked, again):
        assert page.context["back"] == f"{LIST}{row.pk}/change/?{KEPT}"
    assert said(done) == ["Reset 1 of 1."]
    assert done.redirect_chain == [(f"{LIST}{row.pk}/change/?{KEPT}", 302)]
    assert escape(f"{LIST}?{FILTERS}") in done.content.decode(), "and from there on to the list"


def test_the_second_of_two_operators_reads_who_was_first(operator, row) -> None:
    asked = operator.get(f"{LIST}{row.pk}/reset/")
    send(operator, asked)

    second = send(operator, asked)

    name = User.objects.get(pk=operator.session["_auth_user_id"]).username
    assert said(second) == [f"Reset 0 of 1; not changed: 1 (Waiting); {name} changed it less than a minute ago."]


def test_the_page_that_asks_names_the_row(operator, row) -> None:
    asked = operator.get(f"{LIST}{row.pk}/retry/")

    (shown,) = asked.context["rows"]
    assert list(shown) == ["Conversion", "State", "Site", "Value"]
    assert f"…{str(row.pk)[-12:]}" in shown["Conversion"]
    assert "FAILED" in shown["State"]
    assert row.site.name in shown["Site"]
    assert (asked.context["beyond"], asked.context["facts"], asked.context["submit"]) == ("", [], "Retry")
    assert not any("selected" in sentence for sentence in asked.context["sentences"]), "the title has said so"
    assert str(shown["Conversion"]) in asked.content.decode()


def test_of_a_selection_the_first_rows_are_named_and_the_others_counted(make_person) -> None:
    site, other = make_site(), make_site("Rakip")
    make_conversions(site, badly=7)
    make_conversions(other, badly=1)
    chosen = [str(pk) for pk in Conversion.objects.order_by("-pk").values_list("pk", flat=True)]

    asked = make_person(sites=(site,)).post(LIST, {"action": "retry", "_selected_action": chosen})
    by_hand = make_person("can", sites=(site,)).post(f"{LIST}act/retry_selected/", {"ids": ",".join(chosen)})

    for page in (asked, by_hand):
        newest = Conversion.objects.for_site(site).order_by("-pk")[:5]
        assert [row["Conversion"].split("</b>")[0][-12:] for row in page.context["rows"]] == [
            str(row.pk)[-12:] for row in newest
        ]
        assert page.context["beyond"] == "and 2 more"
        assert page.context["facts"] == [("Sites", f"{site.name}: 7")]
        assert "Rakip" not in page.content.decode(), "another's rows are not there"


@pytest.mark.parametrize("path", ["/admin/pdfjobs/pdfjob/", "/admin/orchestrator/job/"])
def test_a_row_that_is_gone_is_not_found(admin_client, path: str) -> None:
    assert admin_client.get(f"{path}{uuid4()}/retry/").status_code == 404


@pytest.mark.parametrize("from_row", [True, False], ids=["asked on a row's page", "asked in a list"])
def test_a_confirmation_sent_after_the_session_ended_does_nothing_and_leads_back(operator, row, from_row) -> None:
    if from_row:
        back, asked = f"{LIST}{row.pk}/change/?{KEPT}", operator.get(f"{LIST}{row.pk}/retry/?{KEPT}")
    else:
        back = f"{LIST}?{FILTERS}"
        asked = operator.post(back, {"action": "retry", "_selected_action": [str(row.pk)]})
    user = operator.session["_auth_user_id"]
    operator.logout()

    ((login, _),) = send(operator, asked).redirect_chain
    operator.force_login(User.objects.get(pk=user))
    after = operator.get(parse_qs(urlsplit(login).query)["next"][0], follow=True)

    assert after.redirect_chain == [(back, 302)]
    assert said(after) == ["Nothing was changed: your session had ended. Please confirm again."]
    assert Conversion.objects.get(pk=row.pk).status == "FAILED"


@pytest.mark.parametrize("query", ["", "ids=nonsense&from_row=1", "from_row=1", "filters=p%3D2%0D%0AX: y"])
def test_an_address_of_a_confirmation_leads_to_the_list_at_least(operator, query: str) -> None:
    answer = operator.get(f"{LIST}act/retry_selected/?{query}")

    assert answer.status_code == 302
    assert answer["Location"].startswith(LIST)
