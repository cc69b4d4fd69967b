"""Imports that stopped, as lines of the dashboard."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from kilit.console.machine_errors import explain
from kilit.problems.kinds import ProblemKind
from kilit.problems.registry import Problem, with_number
from ociqueue.admin.imports.import_jobs import page_of
from ociqueue.admin.site_problems import SiteProblems
from ociqueue.models import ImportJob
from ociqueue.models.site import SiteQuerySet


@dataclass(frozen=True)
class ImportProblems(SiteProblems):
    sites: SiteQuerySet

    def find(self) -> Iterator[Problem]:
        def problem(job: ImportJob) -> Problem:
            line = self._of_site(
                job.site,
                ProblemKind.IMPORT_STOPPED,
                name=str(job.pk),
                title=_("%(site)s: an import stopped") % {"site": job.site.name},
                cause=explain(job.error),
                since=job.finished_at,
            )
            return replace(line, link=page_of(job.pk))

        rows = ImportJob.objects.failed_lately().filter(site__in=self.sites).select_related("site").order_by("-id")
        yield from self._each(
            self._first(rows),
            rows,
            problem,
            kind=ProblemKind.IMPORT_STOPPED,
            title=lambda count: with_number(
                ngettext("%(number)s import stopped", "%(number)s imports stopped", count), count
            ),
            cause=_("what was stored stays; import the files again for the rest"),
        )
