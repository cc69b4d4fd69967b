"""Every panel of the Grafana dashboard asks for what /metrics of an installation has."""

import json
from itertools import combinations
from typing import Any

import promql_parser as promql
import pytest
from django.db.models.functions import Now
from django.test import Client

from kilit.lock.management.commands.lifecycle_docs import lifecycle_models
from kilit.workers.models import Heartbeat, Runner, SweepRun
from tests.support.commands import ROOT
from tests.support.pdf_jobs import new_job
from tests.support.promql import Scrape, selectors

BOARD = json.loads((ROOT / "deploy" / "grafana" / "kilit.json").read_text())
PANELS = [panel for panel in BOARD["panels"] if panel["type"] != "row"]
TABLES = {model.lifecycle.queue: model.lifecycle for model in lifecycle_models()}


def covers(one: dict[str, Any], other: dict[str, Any]) -> bool:
    a, b = one["gridPos"], other["gridPos"]
    beside = a["x"] + a["w"] <= b["x"] or b["x"] + b["w"] <= a["x"]
    return not (beside or a["y"] + a["h"] <= b["y"] or b["y"] + b["h"] <= a["y"])


def grouped_by(node: Any) -> set[str]:
    """Return the labels that an expression groups by."""
    labels = set(node.modifier.labels) if isinstance(node, promql.AggregateExpr) and node.modifier else set()
    inner = [getattr(node, name, None) for name in ("lhs", "rhs", "expr")] + list(getattr(node, "args", []))
    return labels.union(*(grouped_by(each) for each in inner if each is not None))


@pytest.mark.django_db
def test_every_panel_asks_for_metrics_and_labels_that_exist() -> None:
    Heartbeat.objects.create(name="here:1", beat_at=Now(), alive_at=Now())
    Runner.objects.create(name="cutter:3", queue="cutting_job", pid=3)
    SweepRun.objects.create(name="pdf_reap", finished_at=Now(), succeeded=True)
    new_job()
    exported: dict[str, set[str]] = {}
    for name, labels, _value in Scrape(Client().get("/metrics").content.decode()).samples:
        exported.setdefault(name, set()).update(dict(labels))

    for panel in PANELS:
        for target in panel["targets"]:
            query = promql.parse(target["expr"].replace("$__rate_interval", "5m"))
            asked = selectors(query)
            assert asked, panel["title"]
            for selector in asked:
                assert selector.name in exported, panel["title"]
                named = {each.name: each.value.split("|") for each in selector.matchers.matchers}
                assert named.keys() | grouped_by(query) <= exported[selector.name], panel["title"]
                table = TABLES[named.get("queue", ["pdf"])[0]]
                assert {*named.get("state", []), *named.get("status", [])} <= set(table.states), panel["title"]


def test_panels_can_be_imported_and_read() -> None:
    ids = [panel["id"] for panel in BOARD["panels"]]
    assert len(ids) == len(set(ids))
    assert [pair for pair in combinations(BOARD["panels"], 2) if covers(*pair)] == []
    assert [each["name"] for each in BOARD["__inputs"]] == ["DS_PROMETHEUS"]
    assert [each["name"] for each in BOARD["templating"]["list"]] == ["datasource"]
    for panel in PANELS:
        assert panel["description"]
        assert panel["fieldConfig"]["defaults"]["unit"]
        assert panel["gridPos"]["x"] + panel["gridPos"]["w"] <= 24
        assert {target["datasource"]["uid"] for target in panel["targets"]} == {"${datasource}"}
