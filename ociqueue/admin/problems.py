"""What is wrong with conversions and their sites: failures, pauses, open circuits, no credentials, silent scripts."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.db.models import QuerySet
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from kilit.console.jobs.timeline import Story
from kilit.problems.kinds import ProblemKind
from kilit.problems.registry import Problem, ProblemAction, ProblemSource, Severity, with_number
from ociqueue.admin.base.permissions import may_administer
from ociqueue.admin.count_problems import CountProblems, miscounted
from ociqueue.admin.google.circuits import next_probe, scope_label
from ociqueue.admin.google.switching import NOT_ALLOWLISTED
from ociqueue.admin.import_problems import ImportProblems
from ociqueue.admin.site_problems import UPLOADED, SiteProblems
from ociqueue.admin.verdict_problems import OverdueVerdicts
from ociqueue.models import Circuit, ImportJob, ReadBack, Receipt, Site
from ociqueue.models.site import SiteQuerySet
from ociqueue.operating.site_health import with_failed_test, with_silent_script, without_credentials
from ociqueue.states import UPLOADED_HERE, SyncMethod

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser, User


@dataclass(frozen=True)
class ConversionProblems(SiteProblems):
    user: "User | AnonymousUser"

    def _resumable(self, sites: list[Site]) -> set[UUID]:
        """Return the ids of those sites that the user may resume."""
        if not sites or not (self.user.is_staff and self.user.has_perm("ociqueue.operate_site")):
            return set()
        return set(
            Site.objects.run_by(self.user).filter(pk__in=[site.pk for site in sites]).values_list("pk", flat=True)
        )

    def _switchable(self, sites: list[Site]) -> set[UUID]:
        """Return the ids of those sites whose sender the user may change."""
        of_api = [site for site in sites if site.sync_method == SyncMethod.API]
        return {site.pk for site in of_api if self.user.is_staff and may_administer(self.user, site)}

    @staticmethod
    def _switch(site: Site) -> ProblemAction:
        return ProblemAction(_("Switch to Data Manager"), reverse("admin:ociqueue_site_switch", args=[site.pk]))

    def paused(self, rows: SiteQuerySet) -> Iterator[Problem]:
        first = self._first(rows)
        resumable = self._resumable(first)

        def problem(site: Site) -> Problem:
            title = _("%(site)s is paused by %(person)s") if site.paused_by else _("%(site)s is paused")
            resume = reverse("admin:ociqueue_site_resume", args=[site.pk])
            return self._of_site(
                site,
                ProblemKind.PAUSED,
                severity=Severity.WARNING,
                title=title % {"site": site.name, "person": Story().who(site.paused_by)},
                cause=site.pause_reason,
                since=site.paused_at,
                action=ProblemAction(_("Resume"), resume, is_done_at_once=True) if site.pk in resumable else None,
            )

        yield from self._each(
            first,
            rows,
            problem,
            kind=ProblemKind.PAUSED,
            severity=Severity.WARNING,
            title=lambda count: with_number(
                ngettext("%(number)s site is paused", "%(number)s sites are paused", count), count
            ),
            cause=_("nothing is exported or sent until the pause ends"),
            is_paused__exact="1",
        )

    def open_circuits(self, circuits: QuerySet[Circuit]) -> Iterator[Problem]:
        rows = circuits.select_related("site").order_by("opened_at")
        first = self._first(rows)
        switchable = self._switchable([circuit.site for circuit in first if circuit.code == NOT_ALLOWLISTED])

        def problem(circuit: Circuit) -> Problem:
            cause = _("%(code)s; next probe %(when)s") % {"code": circuit.code, "when": next_probe(circuit)}
            return self._of_site(
                circuit.site,
                ProblemKind.OPEN_CIRCUIT,
                page="circuit",
                name=str(circuit.pk),
                title=_("%(site)s: Google rejects the account") % {"site": circuit.site.name},
                cause=f"{cause} · {scope_label(circuit)}" if circuit.action else cause,
                since=circuit.opened_at,
                action=self._switch(circuit.site) if circuit.site_id in switchable else None,
            )

        yield from self._each(
            first,
            rows,
            problem,
            kind=ProblemKind.OPEN_CIRCUIT,
            title=lambda count: with_number(
                ngettext("%(number)s circuit is open", "%(number)s circuits are open", count), count
            ),
            cause=_("Google rejects the account, so rows wait; a probe is sent automatically"),
            sync_method__in=UPLOADED,
        )

    def without_credentials(self, rows: SiteQuerySet) -> Iterator[Problem]:
        def problem(site: Site) -> Problem:
            return self._of_site(
                site,
                ProblemKind.NO_CREDENTIALS,
                page="credentials",
                title=_("%(site)s has no credentials") % {"site": site.name},
                cause=_("nothing is sent until they are stored"),
            )

        yield from self._each(
            self._first(rows),
            rows,
            problem,
            kind=ProblemKind.NO_CREDENTIALS,
            title=lambda count: with_number(
                ngettext("%(number)s site has no credentials", "%(number)s sites have no credentials", count), count
            ),
            cause=_("nothing is sent until they are stored"),
            sync_method__in=UPLOADED,
        )

    def failed_tests(self, sites: SiteQuerySet) -> Iterator[Problem]:
        def problem(site: Site) -> Problem:
            return self._of_site(
                site,
                ProblemKind.FAILED_TEST,
                page="credentials",
                # A script does not use the credentials.
                severity=Severity.SERIOUS if site.sync_method in UPLOADED_HERE else Severity.NOTICE,
                title=_("%(site)s: the connection test failed") % {"site": site.name},
                since=site.credentials.checked_at,
            )

        rows = sites.select_related("credentials")
        yield from self._each(
            self._first(rows),
            rows,
            problem,
            kind=ProblemKind.FAILED_TEST,
            title=lambda count: with_number(
                ngettext("%(number)s connection test failed", "%(number)s connection tests failed", count), count
            ),
            cause=_("Google did not accept the stored credentials"),
        )

    def silent_scripts(self, rows: SiteQuerySet) -> Iterator[Problem]:
        def problem(site: Site) -> Problem:
            return self._of_site(
                site,
                ProblemKind.SILENT_SCRIPT,
                title=_("The script of %(site)s does not call") % {"site": site.name},
                cause=_("conversions wait"),
                since=site.seen_at,  # type: ignore[attr-defined]
            )

        yield from self._each(
            self._first(rows),
            rows,
            problem,
            kind=ProblemKind.SILENT_SCRIPT,
            title=lambda count: with_number(
                ngettext("%(number)s script does not call", "%(number)s scripts do not call", count), count
            ),
            cause=_("conversions wait, and no script called for 24 hours"),
            sync_method__exact=SyncMethod.SCRIPT,
        )


def sources_of_sites() -> Iterator[ProblemSource]:
    """Return what finds problems of sites that are in use."""

    def seen_by(user: "User | AnonymousUser") -> SiteQuerySet:
        return Site.objects.seen_by(user).active()

    def source(
        find: Callable[[ConversionProblems, Any], Iterator[Problem]], rows: Callable[[SiteQuerySet], QuerySet[Any]]
    ) -> ProblemSource:
        return ProblemSource(
            lambda user: find(ConversionProblems(user), rows(seen_by(user))), lambda: [rows(Site.objects.active())]
        )

    yield source(ConversionProblems.paused, lambda sites: sites.filter(is_paused=True))
    yield source(ConversionProblems.open_circuits, circuits_of)
    yield source(ConversionProblems.without_credentials, without_credentials)
    yield source(ConversionProblems.failed_tests, with_failed_test)
    yield source(ConversionProblems.silent_scripts, with_silent_script)
    yield ProblemSource(lambda user: OverdueVerdicts(seen_by(user)).find(), lambda: [Receipt.objects.overdue()])
    yield ProblemSource(
        lambda user: CountProblems(seen_by(user)).find(), lambda: [ReadBack.objects.differing(), miscounted()]
    )
    yield ProblemSource(lambda user: ImportProblems(seen_by(user)).find(), lambda: [ImportJob.objects.failed_lately()])


def circuits_of(sites: SiteQuerySet) -> QuerySet[Circuit]:
    return Circuit.objects.open().filter(site__in=sites, site__sync_method__in=UPLOADED_HERE)
