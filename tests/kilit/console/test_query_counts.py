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

FILE = ROOT / "tests" / "query_counts.json"


@pytest.mark.slow
@pytest.mark.usefixtures("demo")
def test_no_page_takes_more_queries_than_were_reviewed(admin_client) -> None:
    rows = {model: [row.pk] for model in admin.site._registry if (row := model._base_manager.order_by("pk").first())}
    counts: dict[str, int] = {}
    for page in addresses(rows):
        if not page.path.endswith("/") or admin_client.get(page.path).status_code != 200:
            continue  # a button or a file; the first request also fills what is kept in memory
        with CaptureQueriesContext(connection) as captured:
            admin_client.get(page.path)
        counts[page.name] = max(len(captured), counts.get(page.name, 0))

    if os.environ.get("KILIT_QUERY_COUNTS") == "write":
        FILE.write_text(json.dumps(counts, indent=2, sort_keys=True) + "\n")
    reviewed = json.loads(FILE.read_text())
    assert sorted(counts) == sorted(reviewed)
    assert {name: number for name, number in counts.items() if number > reviewed[name]} == {}
