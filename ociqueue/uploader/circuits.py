"""Opens circuits when an answer shows a fault of the account, and closes them when a probe passes."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from uuid import UUID

from kilit.access.encryption import DecryptionError
from ociqueue.models import Circuit, Credentials, Site, UploadBatch
from ociqueue.models.uploadable import Uploadable
from ociqueue.states import UPLOADED_HERE, Category, Disposition
from ociqueue.uploader.providers import REPLIES_LATER, sender_of
from ociqueue.uploader.results import GATES, RowResult, group_rows

OUTAGE = 2  # uploads lost in a row; a single one may be an accident


def update_circuits(
    site: Site, rows: Sequence[Uploadable], results: Sequence[RowResult], *, probe: Circuit | None
) -> list[str]:
    """Open and close circuits; return notes if the site as a whole has to stop, else nothing."""
    tripped = trip_circuits(site, rows, results)
    if probe and (site.pk, probe.action) not in tripped and probe_passed(results[0], probe):
        closable = Circuit.objects.filter(pk=probe.pk)
        if sender_of(site) == REPLIES_LATER:
            # Asked in the statement itself, because a verdict may have set it since the probe was taken.
            closable = closable.filter(needs_verdict=False)
        closable.close()
    # The site goes on when only one of its conversion names is blocked.
    return list(tripped.values()) if (site.pk, Circuit.EVERY_ACTION) in tripped else []


def update_circuits_by_verdict(
    batch: UploadBatch, rows: Sequence[Uploadable], results: Sequence[RowResult]
) -> list[str]:
    """Open circuits that only the verdict on a probe closes, and close them when such a verdict passes."""
    site = Site.objects.get(pk=batch.site_id)
    tripped = {}
    # A fault of the account at a sender that the site does not use any more stops nothing.
    if site.sync_method == batch.sender:
        tripped = trip_circuits(site, rows, results, needs_verdict=True)
    if batch.is_probe and not results[0].ambiguous:
        # A circuit that opened after the probe was sent has newer evidence.
        probed = Circuit.objects.open().filter(site=site, needs_verdict=True, opened_at__lte=batch.created_at)
        for circuit in probed.filter(action__in=(Circuit.EVERY_ACTION, rows[0].action)):
            if (site.pk, circuit.action) not in tripped and probe_passed(results[0], circuit):
                Circuit.objects.filter(pk=circuit.pk).close()
    return list(tripped.values())


def trip_circuits(
    site: Site, rows: Sequence[Uploadable], results: Sequence[RowResult], *, needs_verdict: bool = False
) -> dict[tuple[UUID, str], str]:
    tripped: dict[tuple[UUID, str], str] = {}
    for row, result in distinct_results(rows, results):
        for at, action in affected_circuits(site, row, result, by_verdict=needs_verdict):
            if (at.pk, action) in tripped:
                continue
            Circuit.objects.trip(
                at,
                action=action,
                code=result.code,
                category=result.category or Category.TRANSIENT,
                reason=result.message or result.code,
                retry_after=result.retry_after,
                needs_verdict=needs_verdict,
            )
            tripped[at.pk, action] = f"{at}{f' ({action})' if action else ''}: circuit opened, {result.code}."
    return tripped


def distinct_results(rows: Sequence[Uploadable], results: Sequence[RowResult]) -> list[tuple[Uploadable, RowResult]]:
    """Return the first row of each kind of result: two thousand rows usually say the same about the account."""
    first_rows: dict[tuple[object, ...], tuple[Uploadable, RowResult]] = {}
    for result, same_rows in group_rows(rows, results):
        is_of_action = result.disposition == Disposition.GATE_ACTION
        for row in same_rows if is_of_action else same_rows[:1]:
            action = row.action if is_of_action else ""
            kind = (result.disposition, result.category, result.whole_request, result.everywhere, action)
            first_rows.setdefault(kind, (row, result))
    return list(first_rows.values())


def affected_circuits(
    site: Site, row: Uploadable, result: RowResult, *, by_verdict: bool
) -> Iterator[tuple[Site, str]]:
    """Return the circuits that a result opens: of a conversion name, of the site or of several sites."""
    if result.disposition == Disposition.GATE_ACTION:
        yield site, row.action
    elif result.disposition == Disposition.GATE_ALL:
        yield from ((other, Circuit.EVERY_ACTION) for other in Site.objects.filter(sync_method=site.sync_method))
    elif result.disposition in GATES or stops_site(site, result, by_verdict=by_verdict):
        yield site, Circuit.EVERY_ACTION
        if result.everywhere:
            yield from ((other, Circuit.EVERY_ACTION) for other in sites_sharing_project(site))


def stops_site(site: Site, result: RowResult, *, by_verdict: bool) -> bool:
    """Return whether to stop: Google asked to wait, rejected the request without a reason, or is unreachable."""
    if result.disposition != Disposition.RETRY or not (result.whole_request or result.category == Category.RATE_LIMIT):
        return False
    return not result.is_temporary or (not by_verdict and is_outage(site))


def probe_passed(result: RowResult, probe: Circuit) -> bool:
    """Return whether Google validated the row itself, whether or not it accepted it."""
    if result.disposition == Disposition.GATE_ACTION:
        return probe.action == Circuit.EVERY_ACTION  # the account works; only that action does not
    return result.disposition not in (*GATES, Disposition.UNSENT) and not result.whole_request


def sites_sharing_project(site: Site) -> Iterator[Site]:
    projects = {}
    for stored in Credentials.objects.filter(site__sync_method__in=UPLOADED_HERE).select_related("site"):
        with suppress(DecryptionError):
            projects[stored.site] = _project(stored.encrypted)
    yield from (other for other, project in projects.items() if project == projects.get(site) and other != site)


@lru_cache(maxsize=10_000)
def _project(encrypted: str) -> str:
    """Return the project of a login, decrypted once in each process: a rate limit asks for those of all sites."""
    return Credentials(encrypted=encrypted).account().project


def is_outage(site: Site) -> bool:
    """Return whether a site's last uploads were lost, in this run or in earlier ones."""
    uploads = UploadBatch.objects.filter(site=site, sender=sender_of(site))  # retractions may go by another
    last = uploads.answered().values_list("is_lost", flat=True)[:OUTAGE]
    return list(last) == [True] * OUTAGE
