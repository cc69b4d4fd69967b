"""Conversions that Google took more than a day ago without giving its verdict, as lines of the dashboard."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from django.db.models import F, Func, IntegerField
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from kilit.problems.kinds import ProblemKind
from kilit.problems.registry import Problem, Severity, with_number
from ociqueue.admin.site_problems import SiteProblems
from ociqueue.models import Receipt, Site
from ociqueue.models.site import SiteQuerySet
from ociqueue.states import SyncMethod

MOST_RECEIPTS = 500  # read for the number of rows


@dataclass(frozen=True)
class OverdueVerdicts(SiteProblems):
    sites: SiteQuerySet

    def find(self) -> Iterator[Problem]:
        by_site = self._overdue()
        if not by_site:
            return
        rows = self.sites.filter(pk__in=by_site)
        yield from self._each(
            self._first(rows),
            rows,
            lambda site: self._problem(site, by_site[site.pk]),
            kind=ProblemKind.VERDICT_OVERDUE,
            severity=Severity.WARNING,
            title=lambda count: with_number(
                ngettext(
                    "%(number)s site waits for Google's verdict",
                    "%(number)s sites wait for Google's verdict",
                    count,
                ),
                count,
            ),
            cause=_("there was none for 24 hours; after 72 hours the conversions are sent again"),
            sync_method__exact=SyncMethod.DATA_MANAGER,
        )

    def _overdue(self) -> dict[UUID, list[Any]]:
        """Return overdue receipts by site, the oldest first."""
        found = Receipt.objects.overdue().filter(batch__site__in=self.sites).order_by("received_at")
        rows = Func(F("row_ids"), function="cardinality", output_field=IntegerField())
        by_site: dict[UUID, list[Any]] = defaultdict(list)
        for receipt in found.values("batch", "received_at", "note", "batch__site", rows=rows)[:MOST_RECEIPTS]:
            by_site[receipt["batch__site"]].append(receipt)
        return by_site

    def _problem(self, site: Site, overdue: list[Any]) -> Problem:
        oldest = overdue[0]
        count = sum(receipt["rows"] for receipt in overdue)
        title = ngettext(
            "%(site)s: no verdict from Google on %(number)s conversion",
            "%(site)s: no verdict from Google on %(number)s conversions",
            count,
        )
        cause = _("there was none for 24 hours; after 72 hours they are sent again")
        problem = self._of_site(
            site,
            ProblemKind.VERDICT_OVERDUE,
            severity=Severity.WARNING,
            title=with_number(title.replace("%(site)s", site.name.replace("%", "%%")), count),
            cause=f"{cause} · {oldest['note']}" if oldest["note"] else cause,
            count=count,
            since=oldest["received_at"],
        )
        return replace(problem, link=reverse("admin:ociqueue_uploadbatch_change", args=[oldest["batch"]]))
