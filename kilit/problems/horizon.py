"""What keeps PostgreSQL from cleaning up, as a problem and as metrics.

While a transaction has a snapshot or has written, PostgreSQL keeps every row version that it might read, in all tables:
each claim passes the versions of all rows that moved since. The same do a prepared transaction, and a replication slot
or a standby that reports what its queries read.

A role sees since when its own transactions have been open; for those of others it needs `pg_monitor`. Without it, and
for slots and standbys, only the number of later transactions is known.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import NamedTuple

from django.contrib.auth.models import AnonymousUser, User
from django.db.models import TextChoices
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from kilit.access.roles import OWNS
from kilit.database.sql import read_rows
from kilit.lock.clock import database_time
from kilit.problems.kinds import ProblemKind
from kilit.problems.registry import Problem, Severity, number, once
from kilit.spans import format_span
from kilit.workers.metrics import seconds_since

PART = "installation"
LONG = timedelta(hours=1)
MANY = 100_000  # later transactions: what is known of a holder whose age is not

# Transactions of other databases hold back nothing here, and neither does autovacuum.
HOLDERS = """
    SELECT CASE WHEN backend_type = 'walsender' THEN 'standby' WHEN state IS NULL THEN 'hidden'
        WHEN state LIKE 'idle%%' THEN 'idle' ELSE 'busy' END,
      pid::text, application_name, coalesce(usename, ''), xact_start, greatest(age(backend_xid), age(backend_xmin))
    FROM pg_stat_activity
    WHERE (backend_xid IS NOT NULL OR backend_xmin IS NOT NULL) AND pid <> pg_backend_pid()
      AND (coalesce(backend_type, 'client backend') = 'client backend' AND datname = current_database()
        OR backend_type = 'walsender')
    UNION ALL
    SELECT 'prepared', gid, '', owner, prepared, age(transaction)
    FROM pg_prepared_xacts WHERE database = current_database()
    UNION ALL
    SELECT 'slot', slot_name, '', '', NULL, age(xmin) FROM pg_replication_slots WHERE xmin IS NOT NULL
"""


class HolderKind(TextChoices):
    BUSY = "busy", gettext_lazy("it runs a statement")
    HIDDEN = "hidden", gettext_lazy("Kilit may not see what it does")
    IDLE = "idle", gettext_lazy("it waits, and does nothing")
    PREPARED = "prepared", gettext_lazy("it was prepared, and neither committed nor rolled back")
    SLOT = "slot", gettext_lazy("a standby that may be gone reserved it")
    STANDBY = "standby", gettext_lazy("a query on a standby needs it")


class Holder(NamedTuple):
    kind: str
    name: str  # the process, the prepared transaction or the slot
    application: str
    role: str
    since: datetime | None  # None if it is not known
    later: int  # transactions that began after it

    @property
    def is_long(self) -> bool:
        return database_age(self.since) > LONG if self.since else self.later > MANY


def database_age(since: datetime) -> timedelta:
    return once("now", database_time) - since


def holders() -> list[Holder]:
    return [Holder._make(row) for row in read_rows(HOLDERS)]


def find(user: User | AnonymousUser) -> Iterator[Problem]:
    if user.has_perm(OWNS):
        yield from map(problem, filter(lambda holder: holder.is_long, holders()))


def problem(holder: Holder) -> Problem:
    return Problem(
        part=PART,
        kind=ProblemKind.OPEN_TRANSACTION,
        name=holder.name,
        severity=Severity.WARNING,
        title=title(holder),
        cause=f"{who(holder)}: {HolderKind(holder.kind).label}",
        advice=advice(holder),
        since=holder.since,
    )


def title(holder: Holder) -> str:
    if holder.since:
        return _("A transaction has been open for %(span)s") % {"span": format_span(database_age(holder.since))}
    return _("PostgreSQL has cleaned up nothing for %(number)s transactions") % {"number": number(holder.later)}


def who(holder: Holder) -> str:
    match holder.kind:
        case HolderKind.PREPARED:
            return _("prepared transaction %(name)s of the user %(role)s") % holder._asdict()
        case HolderKind.SLOT:
            return _("replication slot %(name)s") % holder._asdict()
    named = {**holder._asdict(), "application": holder.application or _("a program without a name")}
    return _("%(application)s, process %(name)s of the user %(role)s") % named


def advice(holder: Holder) -> str:
    """Say why it harms and how it ends; names are quoted as SQL has them."""
    quoted = "'" + holder.name.replace("'", "''") + "'"
    match holder.kind:
        case HolderKind.PREPARED:
            end = f"ROLLBACK PREPARED {quoted}"
        case HolderKind.SLOT:
            end = f"SELECT pg_drop_replication_slot({quoted})"
        case _:
            end = f"SELECT pg_terminate_backend({holder.name})"
    text = _("Old row versions pile up and all queues get slower. If no one needs it, end it: %(statement)s") % {
        "statement": end
    }
    if holder.kind == HolderKind.HIDDEN:
        grant = _("Since when it has been open, Kilit may see after GRANT pg_monitor TO its database user.")
        return f"{text} {grant}"
    return text


class HorizonCollector(Collector):
    def collect(self) -> Iterator[Metric]:
        all_holders = holders()
        since = min((holder.since for holder in all_holders if holder.since), default=None)
        yield GaugeMetricFamily(
            "kilit_oldest_transaction_seconds",
            "How long the oldest transaction has been open that keeps PostgreSQL from cleaning up",
            value=seconds_since(since, database_time()),
        )
        yield GaugeMetricFamily(
            "kilit_oldest_transaction_lag",
            "Transactions that began after the oldest one that keeps PostgreSQL from cleaning up",
            value=max((holder.later for holder in all_holders), default=0),
        )
