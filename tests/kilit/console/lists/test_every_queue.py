"""What every queue has: a list, groups of failures, a file of them, and actions, for those who may act."""

from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User

from kilit.batches.filters import bare_id
from kilit.batches.queues import queues
from ociqueue.models import Site
from pdfjobs.models import PdfJob
from tests.support.bulk_actions import said
from tests.support.queue_rows import LISTS, RETRY, rows_of

pytestmark = pytest.mark.django_db

every_queue = pytest.mark.parametrize("name", queues)
# A new queue has none of its own: its failures are found by their groups.
CODED = [name for name, queue in queues.items() if "code" in queue.filters.names]


def listed(client: Any, address: str, **query: str) -> list[Any]:
    return list(client.get(address, query).context["cl"].result_list)


def columns(row: Any) -> dict[str, Any]:
    return type(row).objects.filter(pk=row.pk).values().get()


@pytest.mark.parametrize(("model", "package"), [(PdfJob, "pdfjobs"), (User, "django")])
def test_an_error_says_where_to_write_how_rows_of_a_queue_are_made(monkeypatch, model, package: str) -> None:
    monkeypatch.setitem(queues, "telegram", replace(queues["pdf"], model=model))

    with pytest.raises(LookupError, match=rf"ROWS = {{'telegram': .* in tests/{package}/specimens\.py"):
        rows_of("telegram")


@every_queue
def test_a_list_is_filtered_by_state(admin_client, name: str) -> None:
    failed, waiting = rows_of(name).failed(), rows_of(name).waiting()

    assert listed(admin_client, LISTS[name], status=failed.status) == [failed]
    assert listed(admin_client, LISTS[name], status=waiting.status) == [waiting]


@pytest.mark.parametrize("name", CODED)
def test_a_list_with_a_filter_by_code_has_rows_of_that_code_alone(admin_client, name: str) -> None:
    failed, _waiting = rows_of(name).failed(), rows_of(name).waiting()
    code = getattr(failed, "error_code", None) or failed.provider_error_code

    assert listed(admin_client, LISTS[name], code=code) == [failed]
    assert listed(admin_client, LISTS[name], code="NONSENSE") == []


def test_most_lists_have_a_filter_by_code() -> None:
    assert {"conversion", "adjustment", "pdf", "cutting_job", "message"} <= set(CODED)


# A message is called by its webhook's id: tests/outbox/admin/test_messages.py.
@pytest.mark.parametrize("name", sorted(queues.keys() - {"message"}))
def test_a_row_is_found_by_its_name_however_it_is_written(admin_client, name: str) -> None:
    row = rows_of(name).failed()
    rows_of(name).waiting()

    for text in (str(row), str(row).upper(), f"  {row} ", str(row.pk)):
        assert listed(admin_client, LISTS[name], q=text) == [row], text
    for text in (str(row)[:-1], f"other_{row.pk}"):
        assert listed(admin_client, LISTS[name], q=text) == [], text
    assert bare_id(type(row), str(row).upper()) == str(row.pk)


@every_queue
def test_alike_failures_are_a_group_that_leads_to_its_rows_and_to_a_retry(admin_client, name: str) -> None:
    row = rows_of(name).failed()
    rows_of(name).waiting()

    (shown,) = admin_client.get(f"{LISTS[name]}groups/").context["groups"]
    retry = admin_client.get(f"{LISTS[name]}all/retry/?group={shown.group.name}")

    assert (shown.group.total, shown.group.name) == (1, type(row).objects.get(pk=row.pk).error_group)
    assert listed(admin_client, shown.list_href) == [row]
    if "retry" in shown.entry.group:
        assert shown.action.link == f"{LISTS[name]}all/retry/?group={shown.group.name}"
    assert "Retry: 1 match" in retry.context["sentences"][0]


@every_queue
def test_the_file_of_failures_has_those_alone(admin_client, name: str) -> None:
    row, waiting = rows_of(name).failed(), rows_of(name).waiting()

    text = admin_client.get(f"{LISTS[name]}dead-letters/").getvalue().decode()

    assert len(text.splitlines()) == 2
    assert str(row.pk) in text or row.pk.hex in text
    assert str(waiting.pk) not in text


@every_queue
def test_one_job_is_retried_at_once_and_its_page_follows(admin_client, name: str) -> None:
    row = rows_of(name).failed()

    answer = admin_client.post(f"{LISTS[name]}act/{RETRY[name]}/", {"ids": str(row.pk), "from_row": "1"}, follow=True)

    assert answer.redirect_chain == [(f"{LISTS[name]}{row.pk}/change/", 302)]
    row.refresh_from_db()
    assert row.status in queues[name].table.initial
    assert "by admin" in answer.text


@every_queue
def test_viewers_are_offered_and_do_nothing(make_person, name: str) -> None:
    row = rows_of(name).failed()
    before, viewer = columns(row), make_person(role="viewer", sites=Site.objects.all())

    page = viewer.get(f"{LISTS[name]}{row.pk}/change/")
    refused = [
        viewer.post(f"{LISTS[name]}act/{RETRY[name]}/", {"ids": str(row.pk), "reason": "mine"}),
        viewer.get(f"{LISTS[name]}{row.pk}/retry/"),
        viewer.post(f"{LISTS[name]}all/retry/?status={row.status}", {"reason": "mine"}),
    ]

    assert page.status_code == 302 or not page.context["offers"]
    assert {answer.status_code for answer in refused} == {403}
    assert columns(row) == before


@every_queue
def test_other_verbs_and_unknown_rows_do_no_harm(admin_client, name: str) -> None:
    row = rows_of(name).failed()
    act = f"{LISTS[name]}act"

    assert admin_client.post(f"{act}/claim/", {"ids": str(row.pk), "reason": "x"}).status_code == 404
    for ids, answer in {uuid4(): " 0 of 1; ", "nonsense": "Select from 1 to "}.items():
        told = said(admin_client.post(f"{act}/{RETRY[name]}/", {"ids": str(ids), "reason": "x"}, follow=True))
        assert answer in told[0]
    chosen = {"action": "retry", "_selected_action": ["x"]}
    assert admin_client.post(LISTS[name], chosen).status_code == 400


@every_queue
def test_a_hand_made_post_changes_no_field(admin_client, name: str) -> None:
    row = rows_of(name).waiting()
    before = columns(row)
    form = {field.name: "1" for field in type(row)._meta.fields} | {"status": "DONE"}

    assert admin_client.post(f"{LISTS[name]}{row.pk}/change/", form).status_code == 403
    assert columns(row) == before
