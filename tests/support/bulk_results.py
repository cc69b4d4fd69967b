"""What became of a bulk action, by the file of its results, its lines and the witness."""

import csv
from collections import Counter
from io import StringIO
from typing import Any
from uuid import UUID

from django.test import Client

from kilit.bulk.models import BulkAction
from kilit.lock.models import Event
from tests.support.bulk_actions import PAGES


def results(client: Client, action: BulkAction) -> dict[UUID, dict[str, str]]:
    answer: Any = client.get(f"{PAGES}{action.pk}/results/")
    text = b"".join(answer.streaming_content).decode().removeprefix("\ufeff")
    return {UUID(row["id"]): row for row in csv.DictReader(StringIO(text, newline=""))}


def moves(action: BulkAction) -> Counter[UUID]:
    """Return how often each row was moved in this action's name, by the witness."""
    events = Event.objects.filter(queue="conversion", message=f"mended ({action})", to_state="QUEUED")
    return Counter(events.values_list("object_id", flat=True))


def agrees(client: Client, action: BulkAction) -> None:
    """Check that witness, lines, file and sums tell one story."""
    told, moved = results(client, action), moves(action)
    assert set(moved.values()) <= {1}, "each row is moved once"
    assert {pk for pk, row in told.items() if row["outcome"] == "moved"} == set(moved)
    assert len(told) == action.total
    outcomes = Counter(row["outcome"] for row in told.values())
    assert outcomes["moved"] == action.moved_count
    assert outcomes["left"] == sum(action.left.values())
    assert outcomes["moved"] + outcomes["left"] == action.done_count
