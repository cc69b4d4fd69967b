"""Asking for a bulk action: what is offered, what is shown first, and what is refused."""

from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from kilit.batches import run
from kilit.batches.models import BulkAction, BulkItem
from kilit.lock.models import ErrorGroup
from kilit.sentences import english
from kilit.sites.models import SiteMembership
from ociqueue.models import Conversion
from tests.support.bulk_actions import LIST, PAGES, ask, asked, said, states, worked

pytestmark = pytest.mark.django_db


def offers(client: Client, query: str) -> list[str]:
    return [offer["label"] for offer in client.get(f"{LIST}?{query}").context["bulk_offers"]]


def test_all_that_match_is_offered_once_something_is_filtered(make_person, operator, site) -> None:

    assert offers(operator, "") == []
    assert offers(operator, "p=2") == []
    assert offers(operator, "status=nonsense") == []
    assert offers(operator, "status=COMPLETED") == []
    assert offers(operator, "status=FAILED") == [
        "Retry — only: Failed, Waiting to retry",
        "Reset to queued — only: Waiting to retry, Being sent, Waiting for Google, Failed",
    ]
    assert len(offers(operator, "code=X")) == 3
    assert offers(make_person("can", role="viewer", sites={site: "operator"}), "status=FAILED") == []


def test_filters_that_are_typed_in_reach_as_far_as_the_list(operator, site, make_failed) -> None:
    """A group is retried by the filter that shows it, and so is a code or a span of days."""
    make_failed(site, 2, code="NO_CLICK")
    make_failed(site, 1)
    ErrorGroup.objects.fold()
    today = timezone.localdate(Conversion.objects.earliest("created_at").created_at).isoformat()
    group = Conversion.objects.filter(provider_error_code="NO_CLICK")[0].error_group

    by_code = operator.get(f"{LIST}all/retry/?code=NO_CLICK").context
    by_day = operator.get(f"{LIST}all/retry/?from={today}&to={today}").context
    by_group = operator.get(f"{LIST}all/retry/?group={group}").context

    assert by_code["sentences"][0] == by_group["sentences"][0] == "Retry: 2 match (Failed: 2)."
    assert by_day["sentences"][0] == "Retry: 3 match (Failed: 3)."
    texts = [shown["facts"][0][1] for shown in (by_code, by_day, by_group)]
    assert texts == [
        "error code: NO_CLICK",
        f"From: {today} · To, that day included: {today}",
        "error group: NO_CLICK",
    ]


def test_a_list_of_one_state_offers_what_applies_to_it(operator, site, make_failed) -> None:
    make_failed(site, 1)

    def offered(query: str) -> list[str]:
        choices = operator.get(f"{LIST}?{query}").context["action_form"].fields["action"].choices
        return [name for name, _ in choices if name]

    assert offered("status=FAILED") == ["retry", "reset"]
    assert offered("") == ["retry", "reset", "mark_failed"]


def test_the_page_says_first_what_would_happen(make_person, make_site, make_failed, make_conversion) -> None:
    mine, seen = make_site(), make_site()
    make_failed(mine, 3)
    make_failed(seen, 2)
    make_conversion(mine)
    operator = make_person(sites={mine: "operator", seen: "viewer"})

    answer = operator.get(f"{LIST}all/retry/?since=24")

    assert answer.context["sentences"] == [
        "Retry: 3 match (Failed: 3).",
        "They are queued again with all attempts; the error is kept.",
        "Will not change: 1 (Waiting).",
    ]
    assert "age: Last 24 hours" in answer.content.decode()
    assert not BulkAction.objects.exists(), "looking plans nothing"


def test_few_rows_are_done_without_a_number(operator, site, make_failed) -> None:
    make_failed(site, 3)
    make_failed(site, 2, code="OTHER")

    action = worked(asked(operator, query="code=OTHER&status=FAILED"))

    assert (action.status, action.total, action.moved_count) == ("DONE", 2, 2)
    assert states() == {"FAILED": 3, "QUEUED": 2}
    assert action.filters == {"code": "OTHER", "status": "FAILED"}
    assert action.filters_text == "error code: OTHER · state: Failed"


@pytest.mark.parametrize("count", ["", "100", "1O1", "-101", "١٠١", "101000000000000"])
@pytest.mark.by_day(2)
def test_above_a_hundred_the_number_has_to_be_typed(operator, site, make_failed, count: str) -> None:
    make_failed(site, 101)

    refused = ask(operator, count=count)

    assert refused.context["form"].non_field_errors() == ["Type 101 to confirm: that many rows would be changed now."]
    assert not BulkAction.objects.exists()
    assert not BulkItem.objects.exists()
    assert worked(asked(operator, count="101")).moved_count == 101


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("", "Set a filter first. Actions do not run over the whole list."),
        ("p=1&o=2", "Set a filter first. Actions do not run over the whole list."),
        ("code=%20", "Set a filter first. Actions do not run over the whole list."),
        ("status=nonsense", "The filter “status” has no value “nonsense”, so nothing matches."),
        ("gclid__startswith=C", "“gclid__startswith” is not a filter of this list."),
        ("status=FAILED&site=nonsense", "The filter “site” has no value “nonsense”, so nothing matches."),
        # One end of a range alone would act on more than was meant.
        ("from=nonsense", "The filter “from” has no value “nonsense”, so nothing matches."),
        ("to=nonsense", "The filter “to” has no value “nonsense”, so nothing matches."),
        ("from=2026-01-01&to=nonsense", "The filter “to” has no value “nonsense”, so nothing matches."),
    ],
)
def test_filters_that_narrow_nothing_are_refused(operator, site, make_failed, query: str, message: str) -> None:
    make_failed(site, 1)
    address = f"{LIST}all/retry/?{query}"

    answers = [operator.get(address, follow=True), operator.post(address, {"reason": "x"}, follow=True)]

    for answer in answers:
        assert answer.redirect_chain == [(LIST, 302)]
        assert said(answer) == [message]
    assert not BulkAction.objects.exists()
    assert states() == {"FAILED": 1}


def test_a_filter_by_another_operators_site_reaches_nothing(make_person, make_site, make_failed) -> None:
    mine, other = make_site(), make_site()
    make_failed(other, 2)
    operator = make_person(sites={mine: "operator"})

    assert ask(operator, query=f"site={other.pk}").redirect_chain
    assert ask(operator).context["submit"] == "", "nothing matches, nothing is offered"
    assert not BulkAction.objects.exists()
    assert states() == {"FAILED": 2}


def test_viewers_are_refused(make_person, operator, site, make_failed, client) -> None:
    make_failed(site, 1)
    for number, person in enumerate([("viewer", "operator"), ("operator", "viewer")]):
        role, membership = person
        viewer = make_person(f"viewer{number}", role=role, sites={site: membership})
        assert ask(viewer).status_code == 403
        assert viewer.get(f"{LIST}all/retry/?status=FAILED").status_code == 403
    assert client.post(f"{LIST}all/retry/?status=FAILED", {"reason": "x"}).status_code == 302
    assert operator.get(f"{LIST}all/claim/?status=FAILED").status_code == 404
    assert not BulkAction.objects.exists()


def test_a_reason_is_asked_for(operator, site, make_failed) -> None:
    make_failed(site, 1)

    answer = ask(operator, reason="  ")

    assert answer.context["form"].errors == {"reason": ["This field is required."]}
    assert not BulkAction.objects.exists()


def test_very_many_are_counted_by_a_worker_and_confirmed_then(operator, site, make_failed, monkeypatch) -> None:
    make_failed(site, 120)
    monkeypatch.setattr(run, "MOST_LOOKED_AT", 50)
    monkeypatch.setattr("kilit.console.lists.bulk_requests.MOST_LOOKED_AT", 50)

    asking = operator.get(f"{LIST}all/retry/?status=FAILED")
    action = asked(operator)
    planned = operator.get(f"{PAGES}{action.pk}/change/").content.decode()
    ready = worked(action)
    page = operator.get(f"{PAGES}{action.pk}/change/").content.decode()
    wrong = operator.post(f"{PAGES}{action.pk}/start/", {"count": "50"}, follow=True)
    nothing_yet = states()
    operator.post(f"{PAGES}{action.pk}/start/", {"count": "120"})
    twice = operator.post(f"{PAGES}{action.pk}/start/", {"count": "120"}, follow=True)

    assert asking.context["sentences"][0].startswith("Retry: more than 50 match.")
    assert asking.context["submit"] == "Count them first"
    assert "Nothing has been changed yet" in planned
    assert (ready.status, ready.total, ready.eligible) == ("READY", 120, 120)
    assert "Retry: 120 match (Failed: 120)." in page
    assert "Type 120 to confirm" in page
    assert said(wrong) == ["Type 120 to start it."]
    assert nothing_yet == {"FAILED": 120}
    assert said(twice) == ["Nothing was changed. Its state: In progress."]
    assert worked(action).moved_count == 120


def test_only_whoever_asked_may_start_it(make_person, site, make_failed, monkeypatch) -> None:
    make_failed(site, 3)
    monkeypatch.setattr(run, "MOST_LOOKED_AT", 1)
    operator, colleague = (make_person(name, sites={site: "operator"}) for name in ("ayse", "can"))
    action = worked(asked(operator))

    assert colleague.post(f"{PAGES}{action.pk}/start/").status_code == 403
    SiteMembership.objects.filter(user__username="ayse").update(role="viewer")
    assert operator.post(f"{PAGES}{action.pk}/start/").status_code == 403
    assert states() == {"FAILED": 3}


def test_more_rows_than_an_action_takes_are_refused(operator, site, make_failed, monkeypatch) -> None:
    make_failed(site, 3)
    monkeypatch.setattr(run, "MOST_LOOKED_AT", 1)
    monkeypatch.setattr(run, "MOST_ROWS", 2)

    action = worked(asked(operator))

    assert (action.status, english(action.error)) == ("FAILED", "More than 2 rows match. Narrow the filter.")
    assert not BulkItem.objects.exists()


def test_who_sees_a_bulk_action(make_person, make_site, make_failed) -> None:
    site, other = make_site(), make_site()
    make_failed(site, 1)
    action = asked(make_person(sites={site: "operator"}))

    def sees(client: Any) -> bool:
        activity = client.get(PAGES, follow=True).context["cl"].result_list
        listed = str(action.pk) in {row.object_id for row in activity}
        for part in ("change", "progress", "results"):
            found = client.get(f"{PAGES}{action.pk}/{part}/").status_code == 200
            assert found == listed, part
        return listed

    assert sees(make_person("member", role="viewer", sites={site: "viewer"}))
    assert not sees(make_person("stranger", sites={other: "operator"}))
    assert sees(make_person("admin-here", role="admin", sites={site: "admin"}))
    assert not sees(make_person("admin-there", role="admin", sites={other: "admin"}))
    assert sees(make_person("chief", role="owner"))


def test_strangers_can_neither_start_nor_cancel(make_person, make_site, make_failed) -> None:
    site, other = make_site(), make_site()
    make_failed(site, 1)
    action = asked(make_person(sites={site: "operator"}))
    stranger = make_person("stranger", sites={other: "operator"})
    viewer = make_person("viewer", role="viewer", sites={site: "viewer"})

    assert stranger.post(f"{PAGES}{action.pk}/cancel/").status_code == 404
    assert viewer.post(f"{PAGES}{action.pk}/cancel/").status_code == 403
    assert viewer.get(f"{PAGES}{action.pk}/cancel/").status_code == 403
    assert viewer.get(f"{PAGES}{action.pk}/start/").status_code == 403
    assert viewer.get(f"{PAGES}nonsense/change/").status_code == 404
    assert worked(action).status == "DONE"


def test_options_go_with_the_action(operator, site, make_failed) -> None:
    make_failed(site, 2)

    action = worked(asked(operator, "reset", clear_errors="on"))

    assert action.options == {"clear_errors": True}
    assert set(Conversion.objects.values_list("provider_error_code", flat=True)) == {""}
