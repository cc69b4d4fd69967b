"""How many queries each page of the console takes, as tests/query_counts.json says: a reviewed file.

`KILIT_QUERY_COUNTS=write pytest tests/kilit/console/test_query_counts.py` writes it.
"""

import json
import os

import pytest
from django.contrib import admin
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.support.admin_addresses import addresses
from tests.support.commands import ROOT
from tests.support.cutting_jobs import held

FILE = ROOT / "tests" / "query_counts.json"


@pytest.mark.slow
@pytest.mark.usefixtures("demo")
def test_no_page_takes_more_queries_than_were_reviewed(admin_client, admin_user) -> None:
    admin_client.force_login(admin_user)  # a line of the activity
    held()  # for a customer whom a page adds
    is_written = os.environ.get("KILIT_QUERY_COUNTS") == "write"
    reviewed: dict[str, int] = {} if is_written else json.loads(FILE.read_text())
    rows = {model: [row.pk] for model in admin.site._registry if (row := model._base_manager.order_by("pk").first())}
    counts: dict[str, int] = {}

    def queries(path: str) -> int | None:
        with CaptureQueriesContext(connection) as captured:
            answer = admin_client.get(path)
        return len(captured) if answer.status_code == 200 else None  # others are buttons

    for page in addresses(rows):
        number = queries(page.path) if page.path.endswith("/") else None  # others are files
        for _again in range(3):
            if number is not None and number > reviewed.get(page.name, 0):
                number = queries(page.path)  # the one before also filled what is kept in memory for seconds
        if number is not None:
            counts[page.name] = max(number, counts.get(page.name, 0))

    if is_written:
        FILE.write_text(json.dumps(counts, indent=2, sort_keys=True) + "\n")
        return
    assert sorted(counts) == sorted(reviewed)
    assert {name: number for name, number in counts.items() if number > reviewed[name]} == {}
