"""After each round: clients are gone, services go on, and everything is given the chance to end."""

from datetime import timedelta
from pathlib import Path
from typing import Any

from django.db import connection, transaction

from tests.system.chaos import calm, checking, leaps
from tests.system.chaos.clients import Client, ack, export
from tests.system.chaos.ledger import Ledger
from tests.system.chaos.report import Report
from tests.system.ha.stage import CLIENTS, Machines


def settle(stage: Machines, world: dict[str, Any], folder: Path) -> list[str]:
    """Bring everything to its end, as a quiet hour after an outage would; return why it gave up, if it did."""
    stage.kill(*[name for name in CLIENTS if name in stage.running])
    connection.close()  # to a leader of before
    leaps.lapse()  # what was held when the leader went, and by services that work on: they notice
    client = Client(world, world["script_site"]["api_key"], Ledger(folder / "ledger", "rest"))
    while rows := export(world, client, limit=1000):
        ack(world, client, rows)
    return calm.wait_for_the_end(stage, world, client)


def clean_up(bucket: str) -> None:
    """Let files in the S3 store look old, so that the cleanup finds those that belong to no row, and run it."""
    from moto.s3.models import s3_backends

    for backends in s3_backends.values():
        for backend in backends.values():
            if bucket in backend.buckets:
                for key in backend.buckets[bucket].keys.values():
                    key.last_modified -= timedelta(seconds=leaps.AN_AGE)
    calm.clean_up()


def check(seed: int, folder: Path, storm: Any, *, unfinished: list[str]) -> Report:
    """Ask every chaos invariant, all of one moment: the services still run their scheduled tasks."""
    connection.close()
    calm.erase_again(folder)
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        return checking.check(seed, folder, storm, seconds=0, unfinished=unfinished)
