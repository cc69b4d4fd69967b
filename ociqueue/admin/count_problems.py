"""Problems of counts: Google's differ from ours, or our own do not add up."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from kilit.console.formatting import number
from kilit.problems.kinds import ProblemKind
from kilit.problems.registry import Problem, with_number
from ociqueue.admin.site_problems import SiteProblems
from ociqueue.models import ReadBack
from ociqueue.models.readback import ReadBackQuerySet
from ociqueue.models.site import SiteQuerySet
from ociqueue.reconcile.compare import DIFFERENCES, Finding


@dataclass(frozen=True)
class CountProblems(SiteProblems):
    sites: SiteQuerySet

    def find(self) -> Iterator[Problem]:
        yield from self._differing_counts()
        yield from self._miscounted_uploads()

    def _differing_counts(self) -> Iterator[Problem]:
        def problem(found: ReadBack) -> Problem:
            return self._of_site(
                found.site,
                ProblemKind.READ_BACK_DIFFERS,
                page="google_counts",
                title=_("%(site)s: Google's counts differ from ours") % {"site": found.site.name},
                cause=_("%(difference)s; open the page and compare it with Google Ads")
                % {"difference": worst_difference(found)},
                since=found.differs_since,
            )

        rows = ReadBack.objects.differing().filter(site__in=self.sites).select_related("site").order_by("site")
        yield from self._each(
            self._first(rows),
            rows,
            problem,
            kind=ProblemKind.READ_BACK_DIFFERS,
            title=lambda count: with_number(
                ngettext(
                    "Google's counts of %(number)s site differ", "Google's counts of %(number)s sites differ", count
                ),
                count,
            ),
            cause=_("Google counted fewer conversions than it accepted"),
        )

    def _miscounted_uploads(self) -> Iterator[Problem]:
        def problem(found: ReadBack) -> Problem:
            line = self._of_site(
                found.site,
                ProblemKind.UPLOAD_MISCOUNTED,
                title=_("%(site)s: an upload does not add up") % {"site": found.site.name},
                cause=_("what became of its rows is not what was sent; please report it"),
                count=len(found.miscounted),
            )
            return replace(line, link=reverse("admin:ociqueue_uploadbatch_change", args=[found.miscounted[0]]))

        rows = miscounted().filter(site__in=self.sites).select_related("site")
        yield from self._each(
            self._first(rows.order_by("site")),
            rows,
            problem,
            kind=ProblemKind.UPLOAD_MISCOUNTED,
            title=lambda count: with_number(
                ngettext(
                    "Uploads of %(number)s site do not add up", "Uploads of %(number)s sites do not add up", count
                ),
                count,
            ),
            cause=_("what became of their rows is not what was sent; please report it"),
        )


def miscounted() -> ReadBackQuerySet:
    return ReadBack.objects.exclude(miscounted=[])


def worst_difference(found: ReadBack) -> str:
    """Return the newest difference in words: its day, its action and both numbers."""
    return next((describe(row) for row in found.days if set(row["findings"]) & set(DIFFERENCES)), "")


def describe(row: dict[str, Any]) -> str:
    google = row["google"]
    context = {
        "day": row["day"],
        "action": row["name"],
        "ours": number(row["due"]),
        "google": number(google["successful"] + google["failed"] + google["pending"]),
        "pending": number(google["pending"]),
    }
    if Finding.MISSING in row["findings"]:
        return _("%(day)s, %(action)s: we sent %(ours)s, Google has %(google)s") % context
    return _("%(day)s, %(action)s: we sent %(ours)s, and %(pending)s are still pending at Google") % context
