"""What may be wrong with sites that are in use: a table of the kinds, and above it how each site is described."""

from collections import defaultdict
from collections.abc import Callable
from functools import partial
from typing import Any
from uuid import UUID

from django.db.models import F, Func, IntegerField, Q, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext_lazy

from kilit.lock.audit import actor_in_words
from kilit.machine_errors import explain
from kilit.problems.kinds import ProblemKind
from kilit.problems.links import list_path, page_path
from kilit.problems.registry import Place, Problem, ProblemAction, ProblemSource, Severity, number, with_number
from kilit.problems.rows import RowProblems
from kilit.sites.models import SiteQuerySet
from ociqueue.codes.entries import REJECTED_ACCOUNT
from ociqueue.codes.table import CONVERSION_ENTRIES
from ociqueue.models import Circuit, ImportJob, ReadBack, Receipt, Site, UploadBatch
from ociqueue.models.circuit import NOT_ALLOWLISTED
from ociqueue.models.readback import ReadBackQuerySet
from ociqueue.operating.site_health import (
    next_probe,
    scope_label,
    with_failed_test,
    with_silent_script,
    without_credentials,
)
from ociqueue.reconcile.compare import DIFFERENCES, Finding
from ociqueue.states import BY_API, CONVERSIONS, UPLOADED_HERE, SyncMethod

SITES_COUNTED = 1000
MOST_PAUSED = 20  # each with a button that ends its pause
MOST_RECEIPTS = 500  # read for the number of rows
NO_VERDICT = ngettext_lazy(
    "%(site)s: no verdict from Google on %(number)s conversion",
    "%(site)s: no verdict from Google on %(number)s conversions",
    "count",
)


def place_of(row: Any, page: str = "change") -> Place:
    site = row if isinstance(row, Site) else row.site
    return Place(site.name, link=page_path(Site, page, site.pk), scope=str(site.pk))


of_sites = partial(RowProblems, part=CONVERSIONS.queue, place=place_of, named="site", counted=SITES_COUNTED)


def paused(site: Site) -> dict[str, object]:
    title = _("%(site)s is paused by %(person)s") if site.paused_by else _("%(site)s is paused")
    names = {"site": site.name, "person": actor_in_words(site.paused_by)}
    return {"title": title % names, "cause": site.pause_reason}


def resume(reader: Any, sites: list[Site]) -> dict[UUID, ProblemAction]:
    if not (reader.is_staff and reader.has_perm("ociqueue.operate_site")):
        return {}
    ids = Site.objects.run_by(reader).filter(pk__in=[site.pk for site in sites]).values_list("pk", flat=True)
    return {pk: ProblemAction(_("Resume"), page_path(Site, "resume", pk), is_done_at_once=True) for pk in ids}


def open_circuit(circuit: Circuit) -> dict[str, object]:
    entry = CONVERSION_ENTRIES.get(circuit.code, REJECTED_ACCOUNT)
    parts = [entry.label, _("next probe %(when)s") % {"when": next_probe(circuit)}]
    return {
        "cause": " · ".join([*parts, *([scope_label(circuit)] if circuit.action else [])]),
        "code": circuit.code,
        "advice": " ".join(entry.sentences()),
    }


def switch(reader: Any, circuits: list[Circuit]) -> dict[object, ProblemAction]:
    """Offer another sender where Google closed the Ads API, to those who may change the site."""
    shut = [row for row in circuits if row.code == NOT_ALLOWLISTED and row.site.sync_method == SyncMethod.API]
    sites = administered_by(reader).filter(pk__in=[circuit.site_id for circuit in shut])
    ids = set(sites.values_list("pk", flat=True))
    return {
        circuit.pk: ProblemAction(_("Switch to Data Manager"), switch_path(circuit.site_id))
        for circuit in shut
        if circuit.site_id in ids
    }


def switch_path(site: object) -> str:
    """Return the settings of a site with the other sender chosen."""
    return page_path(Site, "settings", site, sync_method=SyncMethod.DATA_MANAGER)


def differing_counts(counts: ReadBack) -> dict[str, object]:
    cause = _("%(difference)s; open the page and compare it with Google Ads")
    return {"cause": cause % {"difference": worst_difference(counts)}}


def worst_difference(counts: ReadBack) -> str:
    """Return the newest difference in words: its day, its action and both numbers."""
    return next((_difference(row) for row in counts.days if set(row["findings"]) & set(DIFFERENCES)), "")


def _difference(row: dict[str, Any]) -> str:
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


def miscounted_upload(counts: ReadBack) -> dict[str, object]:
    return {
        "cause": _("what became of its rows is not what was sent; please report it"),
        "count": len(counts.miscounted),
        "link": page_path(UploadBatch, "change", counts.miscounted[0]),
    }


def overdue_verdicts(site: Site, receipts: list[Any]) -> dict[str, object]:
    oldest, count = receipts[0], sum(receipt["rows"] for receipt in receipts)
    cause = _("there was none for 24 hours; after 72 hours they are sent again")
    return {
        "title": with_number(NO_VERDICT, count, site=site.name),
        "cause": f"{cause} · {explain(oldest['note'])}" if oldest["note"] else cause,
        "count": count,
        "since": oldest["received_at"],
        "link": page_path(UploadBatch, "change", oldest["batch"]),
    }


def administered_by(reader: Any) -> SiteQuerySet[Site]:
    may_change = reader.is_staff and reader.has_perm("ociqueue.change_site")
    return Site.objects.administered_by(reader) if may_change else Site.objects.none()


def seen_by(reader: Any) -> SiteQuerySet[Site]:
    return Site.objects.seen_by(reader).active()


def circuits_seen_by(reader: object) -> QuerySet[Circuit]:
    circuits = Circuit.objects.open().filter(site__in=seen_by(reader), site__sync_method__in=UPLOADED_HERE)
    return circuits.select_related("site").order_by("opened_at")


def counts_seen_by(counts: ReadBackQuerySet, reader: object) -> ReadBackQuerySet:
    return counts.filter(site__in=seen_by(reader)).select_related("site").order_by("site")


def imports_seen_by(reader: Any) -> QuerySet[ImportJob]:
    lately = ImportJob.objects.failed_lately().select_related("site").order_by("-id")
    return lately.visible_to(reader).filter(Q(site=None) | Q(site__in=seen_by(reader)))


def place_of_import(job: ImportJob) -> Place:
    return place_of(job) if job.site else Place(_("Several sites"), link=page_path(ImportJob, "change", job.pk))


def miscounted() -> ReadBackQuerySet:
    return ReadBack.objects.exclude(miscounted=[])


def list_of_sites(**filters: str) -> Callable[[], str]:
    return partial(list_path, Site, **filters)


def find_overdue_verdicts(reader: object) -> list[Problem]:
    overdue = Receipt.objects.overdue().filter(batch__site__in=seen_by(reader)).order_by("received_at")
    rows = Func(F("row_ids"), function="cardinality", output_field=IntegerField())
    by_site: dict[UUID, list[object]] = defaultdict(list)
    for receipt in overdue.values("batch", "received_at", "note", "batch__site", rows=rows)[:MOST_RECEIPTS]:
        by_site[receipt["batch__site"]].append(receipt)
    if not by_site:
        return []
    return of_sites(
        kind=ProblemKind.VERDICT_OVERDUE,
        severity=Severity.WARNING,
        rows=lambda reader: seen_by(reader).filter(pk__in=by_site),
        describe=lambda site: overdue_verdicts(site, by_site[site.pk]),
        many=ngettext_lazy(
            "%(number)s site waits for Google's verdict", "%(number)s sites wait for Google's verdict", "count"
        ),
        cause=_("there was none for 24 hours; after 72 hours the conversions are sent again"),
        link=list_of_sites(sync_method=SyncMethod.DATA_MANAGER),
    ).find(reader)


PAUSED = of_sites(
    kind=ProblemKind.PAUSED,
    severity=Severity.WARNING,
    rows=lambda reader: seen_by(reader).filter(is_paused=True),
    since="paused_at",
    most=MOST_PAUSED,
    describe=paused,
    actions=resume,
    many=ngettext_lazy("%(number)s site is paused", "%(number)s sites are paused", "count"),
    cause=gettext_lazy("nothing is exported or sent until the pause ends"),
    link=list_of_sites(status="paused"),
)
OPEN_CIRCUITS = of_sites(
    kind=ProblemKind.OPEN_CIRCUIT,
    rows=circuits_seen_by,
    title=gettext_lazy("%(site)s: Google rejects the account"),
    place=partial(place_of, page="circuit"),
    since="opened_at",
    describe=open_circuit,
    actions=switch,
    many=ngettext_lazy("%(number)s circuit is open", "%(number)s circuits are open", "count"),
    cause=gettext_lazy("Google rejects the account, so rows wait; a probe is sent automatically"),
    link=list_of_sites(sync_method=BY_API),
)
NO_CREDENTIALS = of_sites(
    kind=ProblemKind.NO_CREDENTIALS,
    rows=lambda reader: without_credentials(seen_by(reader)),
    title=gettext_lazy("%(site)s has no credentials"),
    place=partial(place_of, page="credentials"),
    describe=lambda _site: {"cause": _("nothing is sent until they are stored")},
    many=ngettext_lazy("%(number)s site has no credentials", "%(number)s sites have no credentials", "count"),
    cause=gettext_lazy("nothing is sent until they are stored"),
    link=list_of_sites(sync_method=BY_API),
)
FAILED_TESTS = of_sites(
    kind=ProblemKind.FAILED_TEST,
    rows=lambda reader: with_failed_test(seen_by(reader)).select_related("credentials"),
    title=gettext_lazy("%(site)s: the connection test failed"),
    place=partial(place_of, page="credentials"),
    since="credentials.checked_at",
    # A script does not use the credentials.
    describe=lambda site: {} if site.sync_method in UPLOADED_HERE else {"severity": Severity.NOTICE},
    many=ngettext_lazy("%(number)s connection test failed", "%(number)s connection tests failed", "count"),
    cause=gettext_lazy("Google did not accept the stored credentials"),
    link=list_of_sites(),
)
SILENT_SCRIPTS = of_sites(
    kind=ProblemKind.SILENT_SCRIPT,
    rows=lambda reader: with_silent_script(seen_by(reader)),
    title=gettext_lazy("The script of %(site)s does not call"),
    describe=lambda site: {"cause": _("conversions wait"), "since": site.last_export_at or site.created_at},
    many=ngettext_lazy("%(number)s script does not call", "%(number)s scripts do not call", "count"),
    cause=gettext_lazy("conversions wait, and no script called for 24 hours"),
    link=list_of_sites(sync_method=SyncMethod.SCRIPT),
)
DIFFERING_COUNTS = of_sites(
    kind=ProblemKind.READ_BACK_DIFFERS,
    rows=lambda reader: counts_seen_by(ReadBack.objects.differing(), reader),
    title=gettext_lazy("%(site)s: Google's counts differ from ours"),
    place=partial(place_of, page="google_counts"),
    since="differs_since",
    describe=differing_counts,
    many=ngettext_lazy(
        "Google's counts of %(number)s site differ", "Google's counts of %(number)s sites differ", "count"
    ),
    cause=gettext_lazy("Google counted fewer conversions than it accepted"),
    link=list_of_sites(),
)
MISCOUNTED_UPLOADS = of_sites(
    kind=ProblemKind.UPLOAD_MISCOUNTED,
    rows=lambda reader: counts_seen_by(miscounted(), reader),
    title=gettext_lazy("%(site)s: an upload does not add up"),
    describe=miscounted_upload,
    many=ngettext_lazy(
        "Uploads of %(number)s site do not add up", "Uploads of %(number)s sites do not add up", "count"
    ),
    cause=gettext_lazy("what became of their rows is not what was sent; please report it"),
    link=list_of_sites(),
)
STOPPED_IMPORTS = of_sites(
    kind=ProblemKind.IMPORT_STOPPED,
    rows=imports_seen_by,
    place=place_of_import,
    title=gettext_lazy("%(site)s: an import stopped"),
    since="finished_at",
    describe=lambda job: {"cause": explain(job.error), "link": page_path(ImportJob, "change", job.pk)},
    many=ngettext_lazy("%(number)s import stopped", "%(number)s imports stopped", "count"),
    cause=gettext_lazy("what was stored stays; import the files again for the rest"),
    link=list_of_sites(),
)
SOURCES = (
    *(kind.source() for kind in (PAUSED, OPEN_CIRCUITS, NO_CREDENTIALS, FAILED_TESTS, SILENT_SCRIPTS)),
    ProblemSource(find_overdue_verdicts, lambda: [Receipt.objects.overdue()]),
    DIFFERING_COUNTS.source(lambda: [ReadBack.objects.differing()]),
    MISCOUNTED_UPLOADS.source(lambda: [miscounted()]),
    STOPPED_IMPORTS.source(lambda: [ImportJob.objects.failed_lately()]),
)
