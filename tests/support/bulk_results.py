"""The results of a bulk action: its CSV file, its items and the events."""

import csv
from collections import Counter
from io import StringIO
from typing import Any
from uuid import UUID

from django.test import Client

from kilit.batches.models import BulkAction
from kilit.lock.models import Event
from tests.support.bulk_actions import PAGES


def results(client: Client, action: BulkAction) -> dict[UUID, dict[str, str]]:
    answer: Any = client.get(f"{PAGES}{action.pk}/results/")
    text = b"".join(answer.streaming_content).decode().removeprefix("\ufeff")
    return {UUID(row["id"]): row for row in csv.DictReader(StringIO(text, newline=""))}


def moves(action: BulkAction) -> Counter[UUID]:
    """Return how often the events say each row was moved by this action."""
    events = Event.objects.filter(queue="conversion", message=f"fixed ({action})", to_state="QUEUED")
    return Counter(events.values_list("object_id", flat=True))


def agrees(client: Client, action: BulkAction) -> None:
    """Check that events, items, file and sums agree."""
    lines, moved = results(client, action), moves(action)
    assert set(moved.values()) <= {1}, "each row is moved once"
    assert {pk for pk, row in lines.items() if row["result"] == "changed"} == set(moved)
    assert len(lines) == action.total
    found = Counter(row["result"] for row in lines.values())
    assert found["changed"] == action.moved_count
    assert found["skipped"] == sum(count for _state, _reason, count in action.skipped)
    assert found["changed"] + found["skipped"] == action.done_count
