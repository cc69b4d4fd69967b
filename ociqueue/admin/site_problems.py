"""Problems of sites as lines of the dashboard: a few sites by name, or one line for many."""

from collections.abc import Callable, Iterator
from typing import Any

from django.db.models import QuerySet
from django.urls import reverse

from kilit.problems.kinds import ProblemKind
from kilit.problems.registry import MOST_NAMED, Place, Problem, Severity, problem_key
from ociqueue.models import Site
from ociqueue.states import CONVERSIONS, UPLOADED_HERE

SITES_COUNTED = 1000
UPLOADED = ",".join(UPLOADED_HERE)  # in the address of the list of sites


class SiteProblems:
    @staticmethod
    def _first(rows: QuerySet[Any]) -> list[Any]:
        return list(rows[: MOST_NAMED + 1])

    def _each(
        self,
        first: list[Any],
        rows: QuerySet[Any],
        problem: Callable[[Any], Problem],
        *,
        kind: ProblemKind,
        title: Callable[[int], str],
        cause: str,
        severity: Severity = Severity.SERIOUS,
        **filters: str,
    ) -> Iterator[Problem]:
        """Return a line for each of a few rows, or one line for many."""
        if len(first) <= MOST_NAMED:
            yield from map(problem, first)
            return
        names = [str(pk) for pk in rows.order_by().values_list("pk", flat=True)[:SITES_COUNTED]]
        count = len(names)
        everything = reverse("admin:ociqueue_site_changelist", query=filters)
        yield Problem(
            part=CONVERSIONS.queue,
            kind=kind,
            severity=severity,
            title=title(count),
            cause=cause,
            count=count,
            where=[place for row in first[:MOST_NAMED] for place in problem(row).where],
            beyond=count - MOST_NAMED,
            link=everything,
            stands_for=[problem_key(CONVERSIONS.queue, kind, name) for name in names],
        )

    def _of_site(
        self,
        site: Site,
        kind: ProblemKind,
        *,
        page: str = "change",
        name: str = "",
        severity: Severity = Severity.SERIOUS,
        **columns: Any,
    ) -> Problem:
        link = reverse(f"admin:ociqueue_site_{page}", args=[site.pk])
        return Problem(
            part=CONVERSIONS.queue,
            kind=kind,
            name=name or str(site.pk),
            severity=severity,
            where=[Place(site.name, link=link, scope=str(site.pk))],
            link=link,
            **columns,
        )
