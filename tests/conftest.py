"""Fixtures shared by all tests."""

import gc
from collections import defaultdict
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from operator import attrgetter
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management.commands import flush
from django.db import Error, connection, connections
from django.db.backends.postgresql.operations import DatabaseOperations
from django.test import Client, TransactionTestCase
from django.utils import translation

import config.urls  # noqa: F401 - loads the admins, as a web process does
from kilit.postgres import server
from tests.support import api_conformance, durations, examples, people, quick, template_database
from tests.support.row_copies import KEPT
from tests.support.waiting import PATIENCE

examples.register_profiles()
gc.disable()  # until all tests are collected

# The server of the tests survives no loss of power and is copied by none. PostgreSQL then writes no log of a table that
# is filled in the transaction that emptied it, as those of query plans are.
server.INITDB += (
    "--no-sync",
    "--set=fsync=off",
    "--set=full_page_writes=off",
    "--set=wal_level=minimal",
    "--set=max_wal_senders=0",
)

# Every test below these starts processes; no test needs to say so itself.
PROCESSES = ("tests/processes/", "tests/system/browser/", "tests/system/chaos/test_chaos.py")


def leave_variants_to_the_night(items: list[pytest.Item]) -> None:
    """Of the variants of a test that is marked `by_day(n)`, make all nightly but n of them, spread evenly."""
    variants: defaultdict[tuple[str, int], list[pytest.Item]] = defaultdict(list)
    for item in items:
        if marker := item.get_closest_marker("by_day"):
            variants[item.nodeid.partition("[")[0], marker.args[0]].append(item)
    for (_, number), alike in variants.items():
        alike.sort(key=attrgetter("nodeid"))
        by_day = {place * len(alike) // number for place in range(number)}
        for place, item in enumerate(alike):
            if place not in by_day:
                item.add_marker(pytest.mark.nightly)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark tests that start processes, and begin with the files that take longest, or leave them out."""
    for item in items:
        if item.nodeid.startswith(PROCESSES):
            item.add_marker(pytest.mark.processes)
    leave_variants_to_the_night(items)
    if config.getoption("short_files"):
        config.hook.pytest_deselected(items=durations.leave_out_long(items))
    durations.longest_first(items)


def pytest_collection_finish() -> None:
    """Let the garbage collector skip what has been loaded, and look less often at what tests make."""
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)
    gc.enable()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--store-durations", action="store_true", help="write how long each file took (tests/durations.json)"
    )
    parser.addoption("--short-files", action="store_true", help="leave out the files that are listed there")


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Store durations if asked to; otherwise name files that take long and are not listed."""
    taken = durations.measured(terminalreporter.stats)
    if config.getoption("store_durations"):
        durations.store(taken)
    elif unlisted := durations.unlisted(taken):
        terminalreporter.line(f"Slow and not in tests/durations.json (make durations): {', '.join(unlisted)}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Let only marked tests start processes."""
    with nullcontext() if item.get_closest_marker("processes") else quick.no_processes():
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, Any, Any]:
    """Let logs with broken Unicode, which some tests feed in, pass between the processes of a test run."""
    report = yield
    report.sections = [(name, text.encode("utf-8", "replace").decode()) for name, text in report.sections]
    return report


def grown_tables(tables: list[str]) -> list[str]:
    """Return the tables that take up more than a megabyte, dead rows included."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT name FROM unnest(%s::text[]) AS name WHERE pg_relation_size(name::regclass) > 1e6", [tables]
        )
        return [name for (name,) in cursor.fetchall()]


@pytest.fixture(scope="session")
def django_db_modify_db_settings(
    django_db_modify_db_settings_parallel_suffix: None, django_db_keepdb: bool, django_db_blocker: Any
) -> Iterator[None]:
    """Let pytest-django make the database of this process as a copy of one that is migrated already."""
    if django_db_keepdb:
        yield
        return
    with django_db_blocker.unblock(), template_database.copied():
        yield


@pytest.fixture(scope="session", autouse=True)
def _flush_past_the_guards() -> Iterator[None]:
    """Let the test runner empty the tables; the product has no such switch."""
    execute = DatabaseOperations.execute_sql_flush

    def flush_most(_self: Any, _style: Any, tables: list[str], **_options: Any) -> list[str]:
        emptied = sorted(f'"{table}"' for table in tables if table not in KEPT)
        # TRUNCATE makes new files for every table and index, which takes twenty times as long; but in a table that has
        # grown, the next tests would read all the dead rows that DELETE leaves.
        large = grown_tables(emptied)
        truncates = [f"TRUNCATE {', '.join(large)} CASCADE"] if large else []
        deletes = [f"DELETE FROM {table}" for table in emptied if table not in large]
        # Wait for what still writes, as TRUNCATE would: it may belong to a process that the test has just killed.
        return ["; ".join([f"LOCK TABLE {', '.join(emptied)} IN SHARE MODE", *truncates, *deletes])]

    def execute_unguarded(self: Any, statements: list[str]) -> None:
        guards_off = "SET session_replication_role = replica"
        execute(self, [guards_off, *statements, "SET session_replication_role = DEFAULT"])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DatabaseOperations, "sql_flush", flush_most)
        patch.setattr(DatabaseOperations, "execute_sql_flush", execute_unguarded)
        # Permissions and groups are still there; to make them again would take longer than the flush.
        patch.setattr(flush, "emit_post_migrate_signal", lambda *_, **__: None)
        yield


@pytest.fixture(scope="session", autouse=True)
def _keep_connections() -> Iterator[None]:
    """Let the next test use the connection of the last: a new one has to read the catalogue again.

    Django closes it after each test that commits, because a session may have settings. They are reset here.
    """

    def reset_settings(_case: TransactionTestCase) -> bool:
        for each in connections.all(initialized_only=True):
            try:
                with each.cursor() as cursor:
                    cursor.execute("DISCARD ALL")
            except Error:
                each.close()
        return False

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_should_reload_connections", reset_settings)
        yield


@pytest.fixture(autouse=True)
def _room_for_queries() -> None:
    """Let each test capture its own queries: Django remembers so many of a process, and then no newer ones count."""
    connection.queries_log.clear()


@pytest.fixture(scope="session", autouse=True)
def _answers_as_described() -> Iterator[None]:
    """Hold every answer of the API that any test sees against its schema."""
    send = Client.request

    def send_and_look(self: Client, **environ: Any) -> Any:
        answer = send(self, **environ)
        api_conformance.check(environ["REQUEST_METHOD"], environ["PATH_INFO"], answer)
        return answer

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Client, "request", send_and_look)
        yield


@pytest.fixture(autouse=True)
def _in_english() -> None:
    """Forget the language of the last request: a test client answers in this thread, and leaves it active."""
    translation.deactivate()


@pytest.fixture
def make_person(db: None) -> Callable[..., Client]:
    return people.make_person


@pytest.fixture
def admin_client(admin_user: User) -> Client:
    return people.browser_of(admin_user)


@pytest.fixture
def in_threads() -> Callable[..., list[Any]]:
    """Call a function from several threads at once, each with a connection of its own; return what came back."""

    def run(function: Callable[[int], Any], *, count: int) -> list[Any]:
        def with_own_connection(number: int) -> Any:
            try:
                return function(number)
            finally:
                connections.close_all()

        with ThreadPoolExecutor(count) as pool:
            tasks = [pool.submit(with_own_connection, number) for number in range(count)]
            return [task.result(timeout=PATIENCE) for task in tasks]

    return run


@pytest.fixture
def sql() -> Callable[..., list[tuple[Any, ...]]]:
    """Run raw SQL, as psql would."""

    def run(statement: str, *params: Any) -> list[tuple[Any, ...]]:
        with connection.cursor() as cursor:
            cursor.execute(statement, params)
            return cursor.fetchall() if cursor.description else []

    return run
