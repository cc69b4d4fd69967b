"""Why a conversion does not move, in sentences with somewhere to go."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from django.urls import reverse
from django.utils import timezone
from django.utils.timesince import timesince
from django.utils.translation import gettext as _

from kilit.console.blockers import Blocker, blocked, ended, held, moment, no_worker, overdue, ready, waiting
from kilit.lock.models import Event
from kilit.workers.sweeps import sweeps
from ociqueue.admin.columns import UNKNOWN, upload
from ociqueue.models import Conversion, Credentials
from ociqueue.models.queryset import SCRIPT_DEAD_AFTER, STUCK_AFTER, max_attempts_of
from ociqueue.models.site import SILENT_AFTER
from ociqueue.overview import open_circuits
from ociqueue.presenters import outcome_unknown
from ociqueue.states import WAITING, Category, Status, SyncMethod


def reasons(row: Conversion, timeline: list[Event]) -> list[Blocker]:
    """Return all that keeps a row where it is, or what it waits for."""
    told = list(_reasons(row, timeline))
    return [*told, blocked(_("Outcome unknown: %(why)s") % {"why": UNKNOWN})] if outcome_unknown(row) else told


def _reasons(row: Conversion, timeline: list[Event]) -> Iterator[Blocker]:
    match row.status:
        case Status.COMPLETED:
            yield ended(_("It has ended: it was sent. Nothing leads on from here."))
        case Status.FAILED:
            yield from _failed(row)
        case Status.PROCESSING:
            yield from _processing(row, timeline)
        case _:
            yield from _waiting(row)


def _failed(row: Conversion) -> Iterator[Blocker]:
    site = row.site
    passing = row.provider_error_category == Category.TRANSIENT
    if passing and site.requeue_transient and _attempts_left(row) > 0:
        yield waiting(
            _("It failed for a passing reason, and the sweep oci_requeue_transient tries it again within %(span)s.")
            % {"span": timesince(timezone.now() - sweeps["oci_requeue_transient"].every)}
        )
        yield from overdue("oci_requeue_transient") or no_worker()
        return
    yield blocked(_("It has failed, and nothing tries it again by itself. Mend the cause, then Retry."))
    if passing and not site.requeue_transient:
        yield blocked(
            _("The reason may pass, but this site does not let failures be tried again by themselves."),
            **_site_link(row),
        )


def _processing(row: Conversion, timeline: list[Event]) -> Iterator[Blocker]:
    with_script = row.open_batch_id is None and row.site.sync_method == SyncMethod.API
    limit: timedelta = SCRIPT_DEAD_AFTER if with_script else STUCK_AFTER
    until = (row.claimed_at or row.updated_at) + limit
    yield held(until, timeline, after=_("the sweep oci_recover_processing brings it back"))
    if row.open_batch_id:
        href = reverse("admin:ociqueue_uploadbatch_change", args=[row.open_batch_id])
        yield waiting(_("An upload to Google has it."), link=_("The upload"), href=href)
    if until < timezone.now():
        yield from overdue("oci_recover_processing") or no_worker()


def _waiting(row: Conversion) -> Iterator[Blocker]:
    told = [*_kept_by_site(row), *_kept_by_time(row), *_kept_by_attempts(row), *_kept_by_sender(row)]
    if told:
        yield from told
    elif row.site.sync_method == SyncMethod.API:
        yield ready(_("seconds"))
    else:
        yield waiting(_("It is due: the site's script takes it when it next comes."), **_site_link(row))


def _kept_by_site(row: Conversion) -> Iterator[Blocker]:
    if row.site.is_paused:
        yield blocked(_("The site is paused because: %(why)s") % {"why": row.site.pause_reason}, **_site_link(row))


def _kept_by_time(row: Conversion) -> Iterator[Blocker]:
    if row.next_retry_at and row.next_retry_at > timezone.now():
        yield waiting(_("It is tried again at %(time)s, not before.") % {"time": moment(row.next_retry_at)})


def _kept_by_attempts(row: Conversion) -> Iterator[Blocker]:
    if _attempts_left(row) <= 0:
        yield blocked(_("Its attempts are used up: the sweep oci_attempt_cap fails it at its next turn."))
        yield from overdue("oci_attempt_cap") or no_worker()


def _kept_by_sender(row: Conversion) -> Iterator[Blocker]:
    if row.site.sync_method == SyncMethod.SCRIPT:
        yield from _kept_by_script(row)
        return
    if not Credentials.objects.filter(site=row.site).exists():
        yield blocked(_("The site sends through the Google Ads API and has no login."), **_site_link(row))
    for circuit in open_circuits([row.site_id]).filter(action__in=["", row.action]):
        told = {"name": circuit.action, "code": circuit.code, "reason": circuit.reason.rstrip(".")}
        told["time"] = moment(circuit.next_probe_at or timezone.now())
        words = (
            _("The circuit of %(name)s is open, because of %(code)s: %(reason)s. The next probe goes out at %(time)s.")
            if circuit.action
            else _("The site's circuit is open, because of %(code)s: %(reason)s. The next probe goes out at %(time)s.")
        )
        yield blocked(
            words % told,
            link=_("The circuit"),
            href=reverse("admin:ociqueue_site_circuit", args=[row.site_id]),
        )
    yield from no_worker()


def _kept_by_script(row: Conversion) -> Iterator[Blocker]:
    came = row.site.last_export_at
    if came is None and row.site.created_at < timezone.now() - SILENT_AFTER:
        yield blocked(_("The site's script has never come."), **_site_link(row))
    elif came and came < timezone.now() - SILENT_AFTER:
        yield blocked(_("The site's script last came %(span)s ago.") % {"span": timesince(came)}, **_site_link(row))


def _attempts_left(row: Conversion) -> int:
    path = SyncMethod(row.site.sync_method)
    return max_attempts_of(path) - (row.attempt_count - row.attempts_forgiven)


def _site_link(row: Conversion) -> dict[str, str]:
    return {"link": row.site.name, "href": reverse("admin:ociqueue_site_change", args=[row.site_id])}


def holdings(row: Conversion) -> list[tuple[str, Any]]:
    """Return the claim, the upload, and what is left of its attempts."""
    shown: list[tuple[str, Any]] = []
    if row.status == Status.PROCESSING and row.claimed_at:
        holder = _("an upload") if row.open_batch_id else _("the site's script")
        shown += [(_("Claimed by"), holder), (_("Claimed at"), moment(row.claimed_at))]
        shown += [(_("Upload"), upload(row))] if row.open_batch_id else []
    if row.status in (*WAITING, Status.PROCESSING):
        left = {"left": max(0, _attempts_left(row)), "most": max_attempts_of(SyncMethod(row.site.sync_method))}
        shown.append((_("Attempts left"), _("%(left)s of %(most)s") % left))
    return shown
