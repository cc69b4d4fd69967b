"""A failed and a waiting row of each queue, for tests of what all queues have."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from kilit.batches.queues import Queue, queues
from tests.support.commands import ROOT


@dataclass(frozen=True)
class QueueRows:
    """How rows of a queue are made; its package's tests have one in `ROWS` of `specimens.py`."""

    failed: Callable[[], Any]
    waiting: Callable[[], Any]


def rows_of(name: str) -> QueueRows:
    package = queues[name].model.__module__.partition(".")[0]
    file = f"tests/{package}/specimens.py"
    specimens = import_module(f"tests.{package}.specimens").ROWS if (ROOT / file).exists() else {}
    if name not in specimens:
        raise LookupError(
            f"Write how a failed and a waiting row are made: ROWS = {{{name!r}: QueueRows(…)}} in {file}."
        )
    rows: QueueRows = specimens[name]
    return rows


def list_address(queue: Queue) -> str:
    return f"/admin/{queue.model._meta.app_label}/{queue.model._meta.model_name}/"


LISTS = {name: list_address(queue) for name, queue in queues.items()}
# The verb by which people retry a job.
RETRY = {name: queue.operation("retry").verb for name, queue in queues.items()}
