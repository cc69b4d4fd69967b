"""Pages that refresh themselves: whether anything changed since a page was read, and the banner of every page.

A page asks for itself again, with the version it shows (If-None-Match). While no job moved, no worker stopped and the
minute is the same, the answer is 304 after one small query; only then is the page rendered again.
"""

from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from http import HTTPStatus
from uuid import UUID

from django.http import HttpRequest, HttpResponse, HttpResponseNotModified
from django.shortcuts import render
from django.urls import reverse
from django.utils.functional import cached_property
from django.utils.translation import get_language
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from kilit.access.middleware import Middleware
from kilit.database.sql import read_row
from kilit.problems.processes import READ_TOGETHER, TABLES, Workers, read_tables
from kilit.problems.registry import Problem, once, one_look
from kilit.problems.workers import stopped_workers

# Ages and times on a page are as old as this at most.
RENDERED_AGAIN_AFTER = timedelta(minutes=1)
# Every move of every job is an event; both queries read one entry of an index.
LAST_EVENT = (
    "SELECT TABLES, statement_timestamp(), current_setting('transaction_read_only') = 'on',"
    " (SELECT max(id) FROM lock_event)"
).replace("TABLES", TABLES)
LAST_EVENT_OF_JOB = LAST_EVENT.replace("FROM lock_event", "FROM lock_event WHERE object_id = %s")


@dataclass(frozen=True)
class PageState:
    """What a page depends on besides its address and its reader."""

    request: HttpRequest
    now: datetime
    is_read_only: bool  # the database; every page says so
    last_event: int | None

    @cached_property
    def stopped(self) -> Sequence[Problem]:
        return list(stopped_workers(Workers.with_tasks_at(self.now)))

    @cached_property
    def version(self) -> str:
        parts: tuple[object, ...] = (
            self.request.user.pk,
            get_language(),
            self.request.get_full_path(),
            self.last_event,
            self.is_read_only,
            self.now.timestamp() // RENDERED_AGAIN_AFTER.total_seconds(),
            *(problem.key for problem in self.stopped),
        )
        return f'W/"{sha256(repr(parts).encode()).hexdigest()[:20]}"'


def page_state(request: HttpRequest, object_id: str = "") -> PageState:
    """Read it before the page reads its rows: a move in between only makes the next refresh render again."""
    job = None
    with suppress(ValueError):
        job = UUID(object_id)
    *tables, now, is_read_only, last_event = read_row(LAST_EVENT_OF_JOB, [job]) if job else read_row(LAST_EVENT)
    once("now", lambda: now)
    once(READ_TOGETHER, lambda: read_tables(tables))
    return PageState(request, now, is_read_only, last_event)


class LiveMiddleware(Middleware):
    """Gives each page of the console its version, and answers a refresh of one that did not change."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        # A page that only shows things reads each once; one that changes something must see the change.
        with one_look() if request.method == "GET" else nullcontext():
            response = self.get_response(request)
        state: PageState | None = getattr(request, "live", None)
        if state and response.status_code == HTTPStatus.OK and "If-None-Match" in request.headers:
            response.headers["ETag"] = state.version
        return response

    def process_view(
        self, request: HttpRequest, view: Callable[..., object], args: Sequence[object], kwargs: dict[str, object]
    ) -> HttpResponse | None:
        if request.method != "GET" or not request.path.startswith(reverse("admin:index")):
            return None
        if not (request.user.is_authenticated and getattr(request.user, "is_staff", False)):
            return None
        state = page_state(request, str(kwargs.get("object_id", "")))
        request.live = state  # type: ignore[attr-defined]
        etag = request.headers.get("If-None-Match")
        if etag and etag == state.version:
            return HttpResponseNotModified(headers={"ETag": state.version})
        return None


@require_safe
@never_cache
def banner(request: HttpRequest) -> HttpResponse:
    """Return what every page shows above its content, for pages that are not refreshed themselves."""
    return render(request, "admin/console/banner.html")
