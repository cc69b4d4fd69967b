"""A queue's list: tabs with exact counts, filters that combine, sorting along an index, and a small page."""

import re
from typing import Any

import pytest
from django.test import Client

from kilit.lock.models import Count, ErrorGroup
from ociqueue.models import Conversion
from tests.support.cutting_jobs import make_job
from tests.support.dashboard import make_conversions, make_site, site_with_operator
from tests.support.pdf_jobs import new_job

pytestmark = pytest.mark.django_db

LIST = "/admin/ociqueue/conversion/"
QUEUES = [LIST, "/admin/pdfjobs/pdfjob/", "/admin/orchestrator/job/"]


def controls(client: Client, query: str = "", path: str = LIST) -> Any:
    return client.get(f"{path}?{query}").context["cl"].controls


def tabs(client: Client, query: str = "") -> dict[str, str]:
    return {tab.label: tab.count for tab in controls(client, query).tabs()}


def test_tabs_count_the_states_of_the_rows_that_the_user_sees(make_person) -> None:
    mine, other = make_site("Mine"), make_site("Other")
    make_conversions(mine, badly=2, waiting=3)
    make_conversions(other, badly=5, well=1)
    Count.objects.fold()
    make_conversions(mine, well=1)  # not folded yet

    assert tabs(make_person(sites=(mine,))) == {"All": "6", "Waiting": "3", "Sent": "1", "Failed": "2"}
    both = make_person("both", sites=(mine, other))
    assert tabs(both)["Failed"] == "7"
    assert tabs(both, f"site={mine.pk}&status=FAILED")["Failed"] == "2"


def test_tabs_show_no_number_that_the_filters_make_wrong() -> None:
    _site, client = site_with_operator(badly=2, waiting=3)

    assert tabs(client, "code=X") == {"All": "", "Waiting": "", "Failed": ""}
    assert tabs(client, "q=o") == {"All": "", "Waiting": "", "Failed": ""}


def test_a_tab_keeps_the_other_filters_and_leaves_the_page() -> None:
    site, client = site_with_operator(badly=2, waiting=3)

    found = {tab.label: tab for tab in controls(client, f"site={site.pk}&p=2&status=QUEUED").tabs()}

    assert found["Failed"].href == f"?site={site.pk}&status=FAILED"
    assert found["All"].href == f"?site={site.pk}"
    assert [label for label, tab in found.items() if tab.is_current] == ["Waiting"]


def test_each_filter_is_a_chip_that_removes_it() -> None:
    site, client = site_with_operator("Berlin", badly=2)

    chips = {chip.label: chip.href for chip in controls(client, f"site={site.pk}&code=X&q=o").chips()}

    assert chips == {
        "site: Berlin": "?code=X&q=o",
        "error code: X": f"?q=o&site={site.pk}",
        "search: o": f"?code=X&site={site.pk}",
    }


def test_error_codes_are_offered_as_they_occur_with_their_number(make_person) -> None:
    mine, other = make_site("Mine"), make_site("Other")
    make_conversions(mine, badly=3, waiting=1)
    make_conversions(other, badly=4)
    ErrorGroup.objects.fold()
    client = make_person(sites=(mine,))

    offers = controls(client, "status=FAILED").code_offers()
    (codes,) = [field for field in controls(client).fields() if field.name == "code"]

    assert [(chip.label, chip.count, chip.href) for chip in offers] == [("X", "3", "?code=X&status=FAILED")]
    assert codes.choices == [("X", "X (3)")]
    assert controls(client, "status=QUEUED").code_offers() == []
    assert controls(client, "code=X").code_offers() == []


@pytest.mark.parametrize("path", QUEUES)
def test_all_filters_are_one_form_that_keeps_state_and_search(admin_client, path: str) -> None:
    make_site()
    html = admin_client.get(f"{path}?status=FAILED&q=abc&since=24").text
    form = re.search(r'<form id="changelist-search".*?</form>', html, re.DOTALL)

    assert form
    assert '<input type="hidden" name="status" value="FAILED">' in form[0]
    assert re.search(r'name="q"\s+id="searchbar"\s+value="abc"', form[0])
    assert '<option value="24" selected>' in form[0]
    assert 'name="code"' in form[0]
    assert 'name="from"' in form[0]


def test_a_list_sorts_by_age_both_ways_with_and_without_a_filter() -> None:
    _site, client = site_with_operator(badly=4)
    ids = list(Conversion.objects.order_by("pk").values_list("pk", flat=True))

    for query in ("", "code=X"):
        listed = client.get(f"{LIST}?{query}").context["cl"]
        (age,) = [header for header in listed.table.headers if header.name == "age"]
        turned = client.get(f"{LIST}{age.sort_href}").context["cl"]
        (back,) = [header for header in turned.table.headers if header.name == "age"]
        assert [row.pk for row in listed.result_list] == ids[::-1]
        assert [row.pk for row in turned.result_list] == ids
        assert (age.direction, back.direction) == ("ascending", "descending")
        assert [row.pk for row in client.get(f"{LIST}{back.sort_href}").context["cl"].result_list] == ids[::-1]


def test_a_list_of_few_rows_sorts_by_what_people_compare(monkeypatch) -> None:
    """Without an index, so not among many."""
    _site, client = site_with_operator(badly=3)
    for number, pk in enumerate(Conversion.objects.order_by("pk").values_list("pk", flat=True)):
        Conversion.objects.filter(pk=pk).update(value=(7, 30, 5)[number])

    (value,) = [header for header in client.get(LIST).context["cl"].table.headers if header.name == "amount"]
    largest = client.get(f"{LIST}{value.sort_href}").context["cl"]
    (value,) = [header for header in largest.table.headers if header.name == "amount"]
    least = client.get(f"{LIST}{value.sort_href}").context["cl"]
    monkeypatch.setattr("kilit.console.lists.listing.MOST_SORTED", 2)
    newest = client.get(f"{LIST}{value.sort_href}").context["cl"]

    assert [row.value for row in largest.result_list] == [30, 7, 5]
    assert value.direction == "descending"
    assert [row.value for row in least.result_list] == [5, 7, 30]
    assert [row.value for row in newest.result_list] == [5, 30, 7]
    assert [header.name for header in newest.table.headers if header.sort_href] == ["age"]


def test_fifty_rows_are_a_small_page() -> None:
    """They were 376 kB, of which 311 kB were the classes of cells."""
    _site, client = site_with_operator(badly=50)

    answer = client.get(LIST)

    assert len(answer.context["cl"].result_list) == 50
    assert len(answer.content) < 150_000


def test_ticked_rows_have_a_button_for_each_action_and_viewers_none(make_person) -> None:
    site, client = site_with_operator(badly=1)

    operator = client.get(f"{LIST}?status=FAILED").text
    viewer = make_person("bora", role="viewer", sites=(site,)).get(LIST).text

    assert re.findall(r'name="action"\s+value="(\w+)"', operator) == ["retry", "reset"], "those that apply to FAILED"
    assert 'id="list-rows"' in operator
    assert 'id="list-rows"' in viewer
    for part in ("_selected_action", 'name="action"', 'id="action-toggle"'):
        assert part not in viewer


def test_the_lists_of_all_queues_name_their_rows(admin_client) -> None:
    new_job(number=7)
    make_job(order_id="SIP-7")

    assert "N-7" in admin_client.get(QUEUES[1]).text
    assert "SIP-7" in admin_client.get(QUEUES[2]).text


def test_states_have_one_label_and_no_second_one(admin_client) -> None:
    make_job()
    make_conversions(make_site(), waiting=1)

    assert '<span class="kilit-badge kilit-badge-info" title="QUEUED">Waiting</span>' in admin_client.get(LIST).text
    (_all, new) = controls(admin_client, path=QUEUES[2]).tabs()
    assert (new.label, new.hint) == ("New", "NEW")
    assert 'title="NEW">New</span>' in admin_client.get("/admin/").text
