"""Pages among very many rows: no list, however deep and whatever its filter, and no count walks its table."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from kilit.batches.models import BulkAction, BulkItem
from kilit.console.lists.confirming import recent_reasons
from ociqueue.models import Conversion, Site
from ociqueue.operating.errors import entries_of_groups
from ociqueue.operating.filters import FILTERS
from tests.support.crowds import (
    ACTIVITY,
    CONVERSIONS,
    CUTTING_JOBS,
    DENIED,
    EVENTS,
    PDFS,
    crowd_activity,
    crowd_after_outage,
    crowd_cutting_jobs,
    crowd_dashboard,
    crowd_denied,
    crowd_pdfs,
)
from tests.support.dashboard import BOARD
from tests.support.plans import Bound, blocks, explained, run_sql, statements, walked

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

# The deepest page passes ten thousand rows: of conversions, at worst each in a block of its own; of activity, some in
# blocks that they share with rows of other kinds; of logs, some dozens in a block.
CONVERSION_BOUND = Bound((CONVERSIONS,), most=12_000, walk=12_000)
FEW = 100
ACTIVITY_BOUND = Bound((ACTIVITY,), most=6_000)

# (table): the rows, the list, what a page may read, how many statements, and the filters
LISTS: dict[str, tuple[Callable[[], Any], str, int, int, list[dict[str, str]]]] = {
    PDFS: (
        crowd_pdfs,
        "/admin/pdfjobs/pdfjob/",
        11_000,
        3,  # a search finds ids first
        [
            {},
            *({"status": state} for state in ("queued", "running", "succeeded", "failed", "expired")),
            {"template": "invoice"},
            {"template": "offer"},
            {"code": "UNKNOWN"},
            {"code": "TEMPLATE_ERROR"},
            {"since": "24"},
            {"from": "2026-01-01"},
            {"group": "0123456789abcdef"},
            {"q": "k500"},
            {"q": "shop"},
        ],
    ),
    CUTTING_JOBS: (
        crowd_cutting_jobs,
        "/admin/orchestrator/job/",
        3_000,
        3,
        [
            {},
            *({"status": state} for state in ("NEW", "DONE", "HOLD", "FAILED")),
            *({"mode": mode} for mode in "ABC"),
            {"code": "E_UNKNOWN"},
            {"since": "over-24"},
            {"group": "0123456789abcdef"},
            {"q": "S-7"},
            {"q": "+905559999999"},
        ],
    ),
    DENIED: (
        crowd_denied,
        "/admin/access/deniedrequest/",
        1_000,
        2,
        [{}, {"code": "CSRF"}],
    ),
}


@pytest.mark.parametrize("table", LISTS)
@pytest.mark.by_day(1)
def test_no_page_of_a_list_walks_its_table(admin_client, table: str) -> None:
    crowd, address, most, few, lists = LISTS[table]
    crowd()

    is_log = table == DENIED
    for filters in lists:
        searches = "q" in filters
        more = table == "orchestrator_job"  # whether an order has a due date
        pages = Bound((table,), most=most, walk=most if is_log else FEW).check_list(
            admin_client, address, filters, statements=(few if searches else 2) + more
        )
        if is_log:
            assert pages.count_text().startswith("more than 10,000 ")
    walk = explained(f"SELECT count(*) FROM {table} WHERE {table} IS NOT NULL")
    assert blocks(walk) > (most if is_log else FEW), "a walk reads more"


def group_of(sql: Any, code: str) -> str:
    ((group,),) = sql("SELECT left(md5(%s || chr(10) || 'No click #'), 16)", code)
    return group


def conversion_lists(large: Site, small: Site, sql: Any) -> list[dict[str, str]]:
    """Return lists that an operator may ask for: each filter, by what many rows have and few, and some together."""
    return [
        {},
        *({"status": state} for state in ("RETRY", "COMPLETED", "FAILED")),
        *({"site": str(site.pk)} for site in (large, small)),
        {"site": str(small.pk), "status": "FAILED"},
        *({"code": code} for code in ("INVALID", "RARE", "NEVER")),
        *({"category": kind} for kind in ("VALIDATION", "AUTH")),
        *({"since": age} for age in ("1", "720", "over-24")),
        {"from": "2026-01-01", "to": "2026-01-02"},
        *({"group": group_of(sql, code)} for code in ("INVALID", "RARE", "NEVER")),
        {"group": group_of(sql, "INVALID"), "site": str(small.pk)},
        {"group": group_of(sql, "INVALID"), "status": "FAILED", "since": "720"},
        {"code": "INVALID", "site": str(small.pk)},
        *({"q": text} for text in ("C500000", "00000000-0000-7000-8000-000000000001")),
        # Beginnings of a million rows, of half a million old ones, of some, and of none.
        *({"q": text} for text in ("k", "K4", "c7777", "never")),
        # The oldest first.
        *({"o": "7", **filters} for filters in ({}, {"status": "FAILED"}, {"code": "RARE"})),
        {"q": "k", "site": str(small.pk)},
        {"q": "k4", "status": "COMPLETED"},
        *({"bulk": bulk, **more} for bulk in [old_bulk()] for more in ({}, {"status": "FAILED"})),
    ]


def more_conversion_lists(large: Site, small: Site, sql: Any) -> list[dict[str, str]]:
    """Return other values of the same filters."""
    return [
        *({"status": state} for state in ("QUEUED", "PROCESSING")),
        {"code": "BUSY"},
        *({"category": kind} for kind in ("TRANSIENT", "RATE_LIMIT")),
        *({"since": age} for age in ("24", "168", "over-1", "over-168")),
        {"group": group_of(sql, "BUSY")},
        {"group": group_of(sql, "RARE"), "site": str(small.pk)},
        {"code": "INVALID", "status": "FAILED"},
        *({"q": text} for text in ("500000", "K500000", "k99", "5")),
        {"o": "7", "site": str(small.pk)},
        {"q": "k9", "site": str(small.pk), "status": "FAILED"},
        {"bulk": old_bulk(), "status": "QUEUED"},
    ]


def old_bulk() -> str:
    """Record a bulk action that changed the oldest of the rows."""
    user = User.objects.create_user("can")
    action = BulkAction.objects.create(
        queue="conversion", action="retry", asked_by=user, reason="x", filters={"q": "k"}
    )
    oldest = Conversion.objects.order_by("pk").values_list("pk", flat=True)[:12_000]
    items = [BulkItem(action=action, object_id=pk, found_as="FAILED", result="changed") for pk in oldest]
    BulkItem.objects.bulk_create(items)
    run_sql("ANALYZE bulk_bulkitem")
    return str(action.pk)


@pytest.mark.parametrize("lists", [conversion_lists, pytest.param(more_conversion_lists, marks=pytest.mark.nightly)])
def test_no_page_of_the_conversions_walks_the_table(admin_client, sql, lists) -> None:
    for filters in lists(*crowd_after_outage(), sql):
        CONVERSION_BOUND.check_list(
            admin_client, "/admin/ociqueue/conversion/", filters, statements=3 if "q" in filters else 2
        )
    for text in ("never", "c7777", "k77777"):
        (statement,) = statements(
            lambda text=text: FILTERS.search.first(Conversion.objects.all(), text), over=(CONVERSIONS,)
        )
        assert blocks(explained(statement)) < 1000, "the rows that it finds, not all of an index"
    groups = [group_of(sql, code) for code in ("INVALID", "BUSY", "RARE", "NEVER")]
    (statement,) = statements(lambda: entries_of_groups(groups, model=Conversion), over=(CONVERSIONS,))
    assert blocks(explained(statement)) < 40, "one row of each group"
    walk = explained(f"SELECT count(*) FROM {CONVERSIONS} WHERE last_error = 'x'")
    assert blocks(walk) > 2 * CONVERSION_BOUND.most, "the bound distinguishes a walk from a page"


@pytest.mark.nightly  # by day, the other lists
def test_no_page_of_the_activity_walks_it(admin_client, make_person) -> None:
    sites = crowd_activity()
    site = str(sites[4].pk)
    lists: list[dict[str, str]] = [
        {},
        *({"kind": kind} for kind in ("task", "key", "login")),
        *({"person": person} for person in ("ayse", "can")),
        {"person": "can", "site": site},
        {"queue": "conversion"},
        {"site": site},
        {"site": site, "kind": "task"},
        {"to": "2026-06-01"},
        {"from": "2026-01-01", "to": "2026-01-02"},
        {"kind": "key", "person": "ayse", "to": "2026-09-01"},
        *({"q": text} for text in ("can", "nobody", "00000000-0000-7000-8000-000000000001")),
    ]
    member = make_person("ayse", role="viewer", sites={sites[4]: "viewer"})

    for client, asked in ((admin_client, lists), (member, [{}, {"site": site}])):
        for filters in asked:
            ACTIVITY_BOUND.check_list(client, "/admin/lock/activity/", filters, statements=2)
    for person in ("ayse", "can", "nobody"):
        user = User(username=person)
        (statement,) = statements(lambda user=user: recent_reasons(user, "retry"), over=(ACTIVITY,))
        assert blocks(explained(statement)) < 300, "of the newest of this person"
    assert blocks(explained(f"SELECT count(*) FROM {ACTIVITY}")) > ACTIVITY_BOUND.most, "a walk reads more"


# Five hundred sites are asked for their oldest, and 24 hours of each are added up: pages of 8 kB, nearly all in memory.
# 14,250 of them were measured, for the hours of 250 sites and four states.
DASHBOARD_BOUND = Bound((CONVERSIONS, PDFS, CUTTING_JOBS, "lock_hourcount", EVENTS), most=16_000)
# Here the table of events is too small for its index, of which this reads one entry.
NEWEST_EVENT = "(SELECT max(id) FROM lock_event"
PAGES: list[tuple[str, dict[str, str]]] = [
    *((BOARD, days) for days in ({}, {"days": "7"}, {"days": "30"})),
    ("/admin/ociqueue/conversion/", {}),
    ("/admin/ociqueue/conversion/", {"status": "FAILED"}),
    ("/admin/pdfjobs/pdfjob/", {}),
    ("/admin/orchestrator/job/", {}),
    ("/admin/ociqueue/site/", {}),
]


def statements_of(client: Client, address: str, filters: dict[str, str]) -> list[str]:
    with CaptureQueriesContext(connection) as captured:
        assert client.get(address, filters).status_code == 200
    return [query["sql"] for query in captured if query["sql"].split()[0] in ("SELECT", "WITH")]


@pytest.mark.nightly  # by day, how many queries each page takes, and what they read of the conversions
def test_neither_the_dashboard_nor_tabs_and_charts_walk_the_finished_rows(
    admin_client, admin_user, make_person
) -> None:
    """The first screen, charts of days, tabs and codes of lists: one test, because the rows take long to make."""
    sites = crowd_dashboard(admin_user)
    few = make_person("can", sites=dict.fromkeys(sites[:2], "operator"))
    many = make_person("ayse", sites=dict.fromkeys(sites[:250], "operator"))

    for client in (admin_client, many):
        ran = statements_of(client, BOARD, {})
        assert len(ran) < 72
        for table in {*DASHBOARD_BOUND.tables} - {EVENTS}:
            assert any(table in statement for statement in ran), table
    for address, filters in [*PAGES, (f"/admin/ociqueue/site/{sites[0].pk}/change/", {})]:
        for client in (admin_client, few, many):
            for statement in statements_of(client, address, filters):
                if NEWEST_EVENT in statement:
                    assert blocks(explained(statement)) < DASHBOARD_BOUND.most
                else:
                    DASHBOARD_BOUND.check((address, filters), statement)
    walk = explained(f"SELECT count(*) FROM {CUTTING_JOBS} WHERE error_message = 'x'")
    assert walked(walk, *DASHBOARD_BOUND.tables) != []
