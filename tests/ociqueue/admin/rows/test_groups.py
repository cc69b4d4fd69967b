"""Error groups in the console: what is shown, to whom, and where it leads."""

from typing import Any

import pytest
from django.contrib.postgres.functions import TransactionNow
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from kilit.console.lists.error_groups import Trend
from kilit.lock.models import ErrorDelta, ErrorGroup
from ociqueue.models import Conversion, Site
from tests.support.conversions import make_failed, new_conversion

pytestmark = pytest.mark.django_db

LIST = "/admin/ociqueue/conversion/"
GROUPS = f"{LIST}groups/"


def fail(site: Site, number: int = 1, **error: str) -> list[Conversion]:
    rows = make_failed(site, number, **{"code": "INVALID", "message": "Click Cj0KCQ-1234 is unknown", **error})
    ErrorDelta.objects.update(created_at=TransactionNow())  # an hour may have begun since this transaction did
    return rows


def shown(client: Client) -> list[Any]:
    answer = client.get(GROUPS)
    assert answer.status_code == 200
    return answer.context["groups"]


def listed(client: Client, **query: Any) -> set[Conversion]:
    answer = client.get(LIST, query)
    assert answer.status_code == 200
    return set(answer.context["cl"].result_list)


def test_alike_failures_are_shown_as_one_with_count_times_and_trend(admin_client, site) -> None:
    fail(site, message="Click Cj0KCQ-1234 is unknown")
    fail(site, message="Click EAIaIQob-99 is unknown")
    fail(site, code="BUSY", message="<b>later</b>")

    large, small = shown(admin_client)
    page = admin_client.get(GROUPS).content.decode()

    assert (large.group.code, large.group.shape, large.group.total) == ("INVALID", "Click <id> is unknown", 2)
    assert large.trend.sentence == "2 in the last 24 hours, 2 of them in the current hour"
    assert large.trend.direction == "rising"
    assert "Click &lt;id&gt; is unknown" in page
    assert "&lt;b&gt;later&lt;/b&gt;" in page
    assert "Cj0KCQ" not in page, "a click id is masked in lists"
    assert "First seen" in page
    assert small.group.total == 1


@pytest.mark.parametrize(
    ("last_hours", "direction"),
    [
        ([0, 0, 0, 0, 1, 2], "rising"),
        ([0, 0, 0, 0, 9, 0], "falling"),
        ([9, 0, 0, 0, 0, 2], "falling"),
        ([1, 1, 1, 1, 1, 1], "steady"),
        ([0, 0, 0, 0, 0, 0], "quiet"),
    ],
)
def test_a_group_without_a_failure_in_the_hour_is_not_rising(last_hours: list[int], direction: str) -> None:
    assert Trend([0] * 18 + last_hours).direction == direction


def test_a_group_leads_to_its_rows_and_to_a_retry_of_all_of_them(admin_client, site) -> None:
    one, other = fail(site, 2)
    fail(site, code="BUSY")
    large, _small = shown(admin_client)

    assert large.list_href == f"{LIST}?group={large.group.name}"
    assert large.action.link == f"{LIST}?status=FAILED&group={large.group.name}"
    assert listed(admin_client, group=large.group.name) == {one, other}
    Conversion.objects.filter(pk=one.pk).retry_selected()
    assert listed(admin_client, group=large.group.name) == {other}
    assert next(found.group.total for found in shown(admin_client) if found.group.code == "INVALID") == 1


def test_nonsense_for_a_group_finds_nothing_and_breaks_nothing(admin_client, site) -> None:
    fail(site)

    for text in ("nonsense", "' OR 1=1 --", "x" * 5000):
        assert listed(admin_client, group=text) == set()
    assert len(listed(admin_client, group="  ")) == 1


def test_membership_narrows_the_groups_and_their_numbers(make_person, make_site) -> None:
    mine, other = make_site(), make_site()
    fail(mine)
    fail(other)
    fail(other, code="SECRET", message="of a rival")

    (found,) = shown(make_person(sites={mine: "viewer"}))

    assert (found.group.code, found.group.total, sum(found.trend.hours)) == ("INVALID", 1, 1)
    assert shown(make_person("fatma")) == []


def test_who_may_not_see_conversions_sees_no_groups(client, django_user_model) -> None:
    client.force_login(django_user_model.objects.create_user("temp", is_staff=True))

    assert client.get(GROUPS).status_code in (302, 403)


def test_the_list_leads_to_the_groups(admin_client) -> None:
    assert f'href="{GROUPS}"' in admin_client.get(LIST).content.decode()


@pytest.mark.slow  # takes seconds: many rows, many rounds or a wait
def test_a_thousand_groups_take_as_many_queries_as_one(admin_client, site) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as asked:
            shown(admin_client)
        of_rows = [query["sql"] for query in asked if "offline_conversion_queue" in query["sql"]]
        assert all("LIMIT 1" in statement for statement in of_rows), "rows are not counted; one of each group is read"
        return len(asked)

    def fail_each(number: int) -> None:
        rows = Conversion.objects.bulk_create([new_conversion(site) for _ in range(number)])
        Conversion.objects.filter(pk__in=[row.pk for row in rows]).claim(limit=number)
        with connection.cursor() as cursor:
            cursor.execute(
                "UPDATE offline_conversion_queue SET status = 'FAILED', provider_error_code = 'C' || order_id,"
                " provider_error_category = 'AUTH', last_error = 'no' WHERE status = 'PROCESSING'"
            )

    fail_each(1)
    shown(admin_client)  # the menu keeps its counts
    few = queries()
    fail_each(1000)
    ErrorGroup.objects.fold()

    assert queries() == few
    answer = admin_client.get(GROUPS)
    assert len(answer.context["groups"]) == 50
    assert "largest groups are shown; there are more" in answer.content.decode()
