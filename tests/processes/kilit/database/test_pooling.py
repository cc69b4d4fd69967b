"""PgBouncer in transaction mode, configured with nothing but what it needs."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.db import connection, transaction

from kilit.lock.audit import acting_as
from kilit.lock.models import Event
from tests.apps.parcels.models import Parcel
from tests.support.commands import free_port
from tests.support.faulty_network import connected_to, faulty_network
from tests.support.waiting import PATIENCE, wait_until

PGBOUNCER = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(PGBOUNCER is None, reason="needs PgBouncer: apt-get install pgbouncer"),
]

CLIENTS, ROUNDS = 6, 15
CONFIG = """
[databases]
{name} = host=127.0.0.1 port={server} user={user}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 2
"""


@pytest.fixture
def pooler() -> Iterator[dict[str, str]]:
    """Run a PgBouncer with fewer connections than clients; return its address."""
    params = connection.get_connection_params()
    room = Path(tempfile.mkdtemp(prefix="kilit-pooling-", dir="/tmp"))
    room.chmod(0o755)
    with faulty_network() as network:  # the embedded server's socket is open to its own user only
        port = free_port()
        address = {"name": params["dbname"], "user": params["user"], "server": network.port, "port": port}
        (room / "pgbouncer.ini").write_text(CONFIG.format(**address))
        other = {"user": "nobody"} if os.geteuid() == 0 else {}  # it refuses to run as root
        command = [str(PGBOUNCER), str(room / "pgbouncer.ini")]
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL, **other)
        try:
            wait_until(lambda: accepts(port, params["dbname"]))
            yield {"HOST": "127.0.0.1", "PORT": str(port), "USER": params["user"]}
        finally:
            process.terminate()
            process.wait(timeout=PATIENCE)
            shutil.rmtree(room)


def accepts(port: int, name: str) -> bool:
    with suppress(psycopg.OperationalError), psycopg.connect(host="127.0.0.1", port=port, dbname=name, user="any"):
        return True
    return False


def idle_limit() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SHOW idle_in_transaction_session_timeout")
        return str(cursor.fetchone()[0])


def test_the_product_works_through_pgbouncer_in_transaction_mode(
    pooler: dict[str, str], in_threads: Callable[..., list[Any]]
) -> None:
    """Clients share two sessions: whatever one would leave in a session, another would find."""
    Parcel.objects.bulk_create([Parcel(depot="east") for _ in range(CLIENTS * ROUNDS)])

    def work(number: int) -> set[tuple[str, ...]]:
        seen = set()
        with connected_to(**pooler) as through, acting_as(f"worker:{number}"):
            assert through.is_pooled()
            for _ in range(ROUNDS):
                with transaction.atomic():
                    parcel = Parcel.objects.claim(limit=1)[0]
                    seen.add(("inside", idle_limit()))
                    parcel.deliver()
                seen.add(("outside", idle_limit()))
                seen.add(("rows", str(len(list(Parcel.objects.values_list("pk").iterator(chunk_size=10))))))
        return seen

    (seen, *others) = in_threads(work, count=CLIENTS)

    assert seen == {("inside", "10min"), ("outside", "0"), ("rows", str(CLIENTS * ROUNDS))}
    assert all(other == seen for other in others)
    events = Event.objects.filter(to_state="DELIVERED")
    assert events.count() == CLIENTS * ROUNDS
    assert {events.filter(actor=f"worker:{number}").count() for number in range(CLIENTS)} == {ROUNDS}
    assert not connection.is_pooled()
