"""The same work beside few finished rows and beside very many: what runs all day must not know the difference."""

import http.cookiejar
import statistics
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import psycopg
from django.contrib.auth.models import User
from django.db import connection
from psycopg import sql

from ociqueue.models import Conversion, Site
from tests.support.workers import database_url
from tests.tools.benchmarks.conversions import fill
from tests.tools.benchmarks.crowd import crowd
from tests.tools.benchmarks.harness import Figure, Side, scope
from tests.tools.benchmarks.servers import Web, web

FEW = 100_000
ROWS = 10_000
PAGE = 1_000
REQUESTS = 20
PASSWORD = "a password for the benchmark"


def many() -> int:
    """Return how many finished rows are very many."""
    if scope.full:
        return 10_000_000
    scope.note(
        "`oci_flat`, `stats_flat`, `dashboard_flat`, `list_flat`: 1 million rows here; `make bench-full` takes 10."
    )
    return 1_000_000


@dataclass
class Place:
    """A database of its own with a past, and a web server on it."""

    database: str
    site: str
    script: Web
    console: "Console"
    row: Site


class Console:
    """A person's browser, logged in."""

    def __init__(self, port: int) -> None:
        """Log in as people do."""
        self.address = f"http://127.0.0.1:{port}"
        self.cookies = http.cookiejar.CookieJar()
        self.opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(self.cookies))
        self.get("/admin/login/")
        token = next(cookie.value for cookie in self.cookies if cookie.name == "csrftoken")
        form = {"username": "bench", "password": PASSWORD, "csrfmiddlewaretoken": token, "next": "/admin/"}
        body = urllib.parse.urlencode(form).encode()
        with self.opener.open(f"{self.address}/admin/login/", body, timeout=120) as answer:
            assert "login" not in answer.geturl(), "the login was refused"

    def get(self, path: str) -> int:
        """Read a page to its end."""
        with self.opener.open(self.address + path, timeout=300) as answer:
            return len(answer.read())

    def milliseconds(self, path: str) -> float:
        """Return the median time of a page."""
        taken = []
        for _ in range(REQUESTS):
            start = time.perf_counter()
            self.get(path)
            taken.append(time.perf_counter() - start)
        return statistics.median(taken) * 1000


class Bench:
    """The two places."""

    few: Place
    many: Place


@contextmanager
def two_pasts() -> Iterator[None]:
    """Make two databases that differ in nothing but how much is finished."""
    with place("bench_few", FEW) as Bench.few, place("bench_many", many()) as Bench.many:
        yield


@contextmanager
def place(database: str, finished: int) -> Iterator[Place]:
    """Copy this run's database, empty it, give it a past, and serve it."""
    with on_copy(database):
        User.objects.create_superuser("bench", password=PASSWORD)
        site = Site.objects.create(name="Flat", default_currency="TRY")
        key = site.issue_key(name="bench")
        crowd(site, finished)
        address = database_url()
    try:
        with web(DATABASE_URL=address) as server:
            yield Place(database, site.public_id, server.with_headers(x_api_key=key), Console(server.port), site)
    finally:
        _maintain(sql.SQL("DROP DATABASE {} (FORCE)").format(sql.Identifier(database)))


@contextmanager
def on_copy(database: str) -> Iterator[None]:
    """Work on a copy of this run's tables, without its rows."""
    own = connection.settings_dict["NAME"]
    connection.close()
    names = {"copy": sql.Identifier(database), "own": sql.Identifier(own)}
    _maintain(sql.SQL("DROP DATABASE IF EXISTS {copy} (FORCE)").format(**names))
    _maintain(sql.SQL("CREATE DATABASE {copy} TEMPLATE {own}").format(**names))
    with elsewhere(database):
        tables = [f'"{table}"' for table in connection.introspection.table_names() if table != "django_migrations"]
        kept = {'"auth_group"', '"auth_permission"', '"auth_group_permissions"', '"django_content_type"'}
        with connection.cursor() as cursor:
            emptied = ", ".join(table for table in tables if table not in kept)
            cursor.execute(
                f"SET session_replication_role = replica; TRUNCATE {emptied}; RESET session_replication_role"
            )
        yield


@contextmanager
def elsewhere(database: str) -> Iterator[None]:
    """Let this process work on another database for a while."""
    own = connection.settings_dict["NAME"]
    connection.close()
    connection.settings_dict["NAME"] = database
    try:
        yield
    finally:
        connection.close()
        connection.settings_dict["NAME"] = own


def _maintain(statement: sql.Composed) -> None:
    params = connection.get_connection_params()
    address = {name: params[name] for name in ("host", "port", "user") if params.get(name)}
    with psycopg.connect(**address, dbname="postgres", autocommit=True) as maintenance:
        maintenance.execute(statement)


def drained(at: Place) -> float:
    """Hand out and acknowledge fresh rows."""
    with elsewhere(at.database):
        fill(Conversion._meta.db_table, at.row, ROWS)
    export = f"/api/oci/google-ads-export?siteId={at.site}&markAsExported=true&limit={PAGE}"
    done = 0
    start = time.perf_counter()
    while items := at.script.get(export):
        done += at.script.post("/api/oci/ack", {"siteId": at.site, "queueIds": [item["id"] for item in items]})[
            "updated"
        ]
    assert done == ROWS, f"drained {done} of {ROWS}"
    return ROWS / (time.perf_counter() - start)


def drain_many() -> float:
    """Drain beside very many."""
    return drained(Bench.many)


def drain_few() -> float:
    """Drain beside few."""
    return drained(Bench.few)


def page(path: str) -> tuple[Side, Side]:
    """Return how long a page takes beside very many, and beside few."""
    return (
        lambda: Bench.many.console.milliseconds(path.format(site=Bench.many.site)),
        lambda: Bench.few.console.milliseconds(path.format(site=Bench.few.site)),
    )


AGAINST = "the same beside 100 thousand finished rows"
FIGURES = [
    Figure("oci_flat", "rows/s", drain_many, drain_few, AGAINST, at_least=0.95, on=two_pasts),
    Figure("stats_flat", "ms", *page("/api/oci/queue-stats?siteId={site}"), AGAINST, at_most=1.5, on=two_pasts),
    Figure("dashboard_flat", "ms", *page("/admin/"), AGAINST, at_most=1.5, on=two_pasts),
    Figure("list_flat", "ms", *page("/admin/ociqueue/conversion/"), AGAINST, at_most=1.5, on=two_pasts),
]
