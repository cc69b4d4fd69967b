"""For tests of query plans: tables that hold what a test put there and nothing else, and what a statement read."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext

from kilit.console.dashboard.live import LAST_EVENT


def run_sql(statement: str, *params: Any, **named: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, named or params)


@contextmanager
def crowding(*tables: str) -> Iterator[None]:
    """Fill tables with the guards off, as vacuum would leave them.

    Dead rows of earlier tests would be read too; emptied within the test's transaction, the tables get new files, and
    the rollback brings the old ones back.
    """
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute("SET LOCAL maintenance_work_mem = '512MB'")  # an index is sorted in memory
        cursor.execute(f"TRUNCATE {', '.join(tables)} CASCADE")
        for table in tables:
            # With room on its page, a changed row would stay in a chain, and a new index of one is not used at once.
            cursor.execute(f"ALTER TABLE {table} SET (fillfactor = 100)")
        with indexes_at_the_end(cursor, *tables):
            yield
        cursor.execute("SET LOCAL session_replication_role = DEFAULT")
        for table in tables:
            cursor.execute(f"ANALYZE {table}")


@contextmanager
def indexes_at_the_end(cursor: Any, *tables: str) -> Iterator[None]:
    """Fill tables without their indexes, but for those of constraints, and make them at the end, which is faster."""
    cursor.execute(
        "SELECT indexrelid::regclass::text, pg_get_indexdef(indexrelid) FROM pg_index"
        " WHERE indrelid = ANY(%s::regclass[]) AND NOT indisprimary"
        " AND NOT EXISTS (SELECT 1 FROM pg_constraint WHERE conindid = indexrelid)",
        [list(tables)],
    )
    indexes = cursor.fetchall()
    for name, _ in indexes:
        cursor.execute(f"DROP INDEX {name}")
    yield
    for _, definition in indexes:
        cursor.execute(definition)


def statements(act: Callable[[], Any], *, over: tuple[str, ...] = ("",)) -> list[str]:
    """Return the statements over some tables that something runs, and take back what it did."""
    with CaptureQueriesContext(connection) as captured, transaction.atomic():
        act()
        transaction.set_rollback(True)
    return [query["sql"] for query in captured if any(table in query["sql"] for table in over)]


def explained(statement: str) -> dict[str, Any]:
    """Run a statement, take it back, and return its plan with what it read."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) {statement.replace('%', '%%')}", [])
        ((explained,),) = cursor.fetchall()
        transaction.set_rollback(True)
    plan: dict[str, Any] = explained[0]["Plan"]
    return plan


def plans(act: Callable[[], Any], *, over: str) -> list[dict[str, Any]]:
    """Return the plans of the UPDATEs of a table that something runs, as they are planned there and then."""
    explanations: list[dict[str, Any]] = []

    def explain(execute: Any, statement: str, params: Any, many: bool, context: Any) -> Any:
        if f'UPDATE "{over}"' in statement:
            with transaction.atomic():
                execute(f"EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) {statement}", params, many, context)
                ((explained,),) = context["cursor"].fetchall()
                explanations.append(explained[0]["Plan"])
                transaction.set_rollback(True)
        return execute(statement, params, many, context)

    with transaction.atomic():
        with connection.execute_wrapper(explain):
            act()
        transaction.set_rollback(True)
    return explanations


def blocks(plan: dict[str, Any]) -> int:
    """Return how many pages of 8 kB a plan read, from memory or not."""
    return int(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"])


def walked(plan: dict[str, Any], *tables: str) -> list[str]:
    """Return those of the tables that a plan reads from end to end."""
    here = [plan["Relation Name"]] if plan["Node Type"].endswith("Seq Scan") else []
    below = [table for part in plan.get("Plans", ()) for table in walked(part, *tables)]
    return [table for table in here if table in tables] + below


def rows_read(plan: dict[str, Any], *tables: str) -> int:
    """Return how many rows of the tables a plan reads."""
    here = plan["Actual Rows"] * plan["Actual Loops"] if plan.get("Relation Name") in tables else 0
    return int(here) + sum(rows_read(part, *tables) for part in plan.get("Plans", ()))


@dataclass(frozen=True)
class Bound:
    """How many pages of 8 kB a statement over some tables may read."""

    tables: tuple[str, ...]
    most: int
    most_of_update: int = 0
    walk: int = 0  # Of what most rows match, a walk from end to end finds the first at once.

    def check(self, name: Any, statement: str, *, most: int = 0) -> None:
        plan = explained(statement)
        read = blocks(plan)
        limit = self.most_of_update if self.most_of_update and "UPDATE" in statement else most or self.most
        assert read < limit, (name, read, statement)
        assert read < self.walk or walked(plan, *self.tables) == [], (name, read, statement)

    def check_queries(self, queries: Mapping[str, Callable[[], Any]], most: Mapping[str, int] | None = None) -> None:
        """Run queries, each with its name; some may read more or less than the others."""
        for name, query in queries.items():
            ran = {*statements(query, over=self.tables)}
            assert ran, name
            for statement in ran:
                self.check(name, statement, most=(most or {}).get(name, 0))

    def check_list(self, client: Client, address: str, filters: dict[str, str], *, statements: int) -> Any:
        """Open the first page of a list and its last, which passes all others; return its paginator."""
        pages = self.check_page(client, address, filters, statements=statements)
        if pages.num_pages > 1:
            self.check_page(client, address, {**filters, "p": str(pages.num_pages)}, statements=statements)
        return pages

    def check_page(self, client: Client, address: str, filters: dict[str, str], *, statements: int) -> Any:
        (table,) = self.tables
        with CaptureQueriesContext(connection) as captured:
            answer = client.get(address, filters)
        assert answer.status_code == 200, filters
        ran = [query["sql"] for query in captured if f'FROM "{table}"' in query["sql"] and query["sql"] != LAST_EVENT]
        assert 0 < len(ran) <= statements, (filters, ran)
        for statement in ran:
            assert "DISTINCT" not in statement
            self.check((address, filters), statement)
        return answer.context["cl"].paginator
