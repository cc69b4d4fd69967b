"""What is blocking a conversion, in sentences with links; adjustments share most of them."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from kilit.lock.models import Event
from kilit.machine_errors import explain
from kilit.problems import blockers
from kilit.problems.blockers import Blocker, blocked, ended, held, no_worker, overdue, ready, waiting
from kilit.problems.links import page_path, row_path
from kilit.spans import distance, format_span, moment
from kilit.workers.sweeps import sweeps
from ociqueue.codes.table import WITHHELD
from ociqueue.models import Conversion, Credentials, Receipt, Site, UploadBatch
from ociqueue.models.site import SILENT_AFTER
from ociqueue.models.uploadable import Uploadable
from ociqueue.operating.site_health import open_circuits
from ociqueue.schemas.columns import outcome_unknown
from ociqueue.states import UPLOADED_HERE, Category, ConversionStatus, SyncMethod

UNKNOWN = gettext_lazy(
    "Outcome unknown: it was sent and no answer came; Google may have it. Its order id keeps Google from counting it "
    "twice."
)
AN_EARLIER_ONE = gettext_lazy(
    "Outcome unknown: an earlier attempt got no answer; Google may have it. Its order id keeps Google from counting it "
    "twice."
)
PERHAPS_SENT = gettext_lazy(
    "Perhaps sent: the script reported an error, but Google may have it all the same. Its order id keeps Google from "
    "counting it twice."
)
NOT_REPORTED = gettext_lazy(
    "Perhaps sent: a run of the script had it and did not report it as sent; Google may have it all the same. Its "
    "order id keeps Google from counting it twice."
)
Causes = Callable[[Any, Any], Iterable[Blocker]]  # of a row, with its limits


def reasons_of(
    row: Uploadable, timeline: list[Event], *, completed: Blocker, failed: Causes, due: Causes
) -> Iterator[Blocker]:
    """Yield what blocks a row; `completed`, `failed` and `due` differ between conversions and adjustments."""
    limits = limits_of(row)
    match row.status:
        case ConversionStatus.COMPLETED:
            yield completed
        case ConversionStatus.FAILED:
            yield from failed(row, limits)
        case ConversionStatus.PROCESSING:
            yield from processing(row, limits, timeline)
        case ConversionStatus.UPLOADED:
            yield from uploaded(row)
        case _:
            yield from due(row, limits)
    if outcome_unknown(row):
        yield blocked(doubt(row))


def reasons(row: Conversion, timeline: list[Event]) -> Iterator[Blocker]:
    completed = ended(_("Completed: it was sent. This state is final."))
    return reasons_of(row, timeline, completed=completed, failed=_failed, due=_waiting)


def limits_of(row: Uploadable) -> Any:
    """Return what the queue compares for this row: the database's own rules, not a copy of them."""
    rows: Any = type(row)._default_manager
    return rows.with_limits().get(pk=row.pk)


def _failed(row: Conversion, limits: Any) -> Iterator[Blocker]:
    if row.erased_at:
        yield ended(_("Failed, and erased: it is never sent again."))
        return
    if row.is_replaced:
        copy = getattr(row, "replacement", None)
        href = row_path(copy) if copy else ""
        yield ended(_("A corrected copy was sent in its place."), link=str(copy or ""), href=href)
    elif row.is_retracted:
        yield ended(_("It was retracted, so it is not sent again."))
    elif row.provider_error_code == WITHHELD:
        yield _withheld(row, limits)
    elif limits.is_too_old:
        yield blocked(_("Failed: the conversion is more than 90 days old, and Google takes none that old."))
    else:
        yield from failed(row, limits)


def _withheld(row: Conversion, limits: Any) -> Blocker:
    where = site_link(row, "settings")
    if limits.is_withheld:
        sentence = _("Not sent: the visitor denied consent. The site's settings decide whether such rows are sent.")
        return ended(sentence, **where)
    return blocked(
        _("Not sent: the visitor denied consent. The site sends such rows now: use Retry to send it."), **where
    )


def failed(row: Uploadable, limits: Any) -> Iterator[Blocker]:
    is_transient = row.provider_error_category == Category.TRANSIENT
    if is_transient and row.site.requeue_transient and limits.attempts_left > 0:
        yield waiting(
            _("The error is temporary. The scheduled task oci_requeue_transient retries it within %(span)s.")
            % {"span": format_span(sweeps["oci_requeue_transient"].every)}
        )
        yield from overdue("oci_requeue_transient") or no_worker()
        return
    yield from blockers.failed(row)
    if is_transient and not row.site.requeue_transient:
        sentence = _("The error is temporary, but automatic retries are switched off for this site.")
        yield blocked(sentence, **site_link(row, "settings"))


def processing(row: Any, limits: Any, timeline: list[Event]) -> Iterator[Blocker]:
    until = limits.stuck_at
    yield held(until, timeline, after=_("the scheduled task oci_recover_processing takes it back"))
    if row.open_batch_id:
        href = page_path(UploadBatch, "change", row.open_batch_id)
        yield waiting(_("It is part of an upload to Google."), link=_("The upload"), href=href)
    if until < timezone.now():
        yield from overdue("oci_recover_processing") or no_worker()


def uploaded(row: Any) -> Iterator[Blocker]:
    where = {"link": _("The upload"), "href": page_path(UploadBatch, "change", row.open_batch_id)}
    receipts = Receipt.objects.filter(batch=row.open_batch_id, request_id=row.provider_request_id)
    receipt = receipts.open().defer("row_ids").first()
    if receipt is None:
        yield waiting(_("Google has it, and has not given its verdict yet."), **where)
        return
    due = receipt.next_check_at or timezone.now()
    values = {"taken": moment(receipt.received_at), "next": moment(due), "number": receipt.checks}
    if receipt.checks:
        sentence = _(
            "Google has had it since %(taken)s and is still processing it. We asked for its verdict %(number)s times; "
            "the next question is at %(next)s."
        )
    else:
        sentence = _("Google has had it since %(taken)s. Its verdict is asked for at %(next)s.")
    yield waiting(sentence % values, **where)
    yield waiting(_("The verdict usually comes within 24 hours. If there is none after 72 hours, it is sent again."))
    if receipt.note:
        yield blocked(explain(receipt.note), **site_link(row))
    if due < timezone.now():
        yield from overdue("oci_verdicts") or no_worker()


def _waiting(row: Conversion, limits: Any) -> Iterator[Blocker]:
    is_retracted = row.is_retracted and not row.outcome_unknown
    if limits.is_withheld or limits.is_too_old or is_retracted:
        yield from _unsendable(row, limits)
        return
    is_uploaded_here = row.site.sync_method in UPLOADED_HERE
    by_sender = blocked_by_account(row) if is_uploaded_here else _blocked_by_script(row)
    if causes := [*blocked_by_pause_or_limits(row, limits), *by_sender]:
        yield from causes
    elif is_uploaded_here:
        yield ready(_("seconds"))
    else:
        yield waiting(_("Waiting for the script's next run."), **site_link(row))


def _unsendable(row: Conversion, limits: Any) -> Iterator[Blocker]:
    task = {"task": "oci_end_unsendable"}
    if limits.is_withheld:
        yield blocked(
            _("The visitor denied consent, and the site does not send such conversions: %(task)s ends it.") % task,
            **site_link(row),
        )
    elif limits.is_too_old:
        yield blocked(_("The conversion is more than 90 days old, so it is not sent: %(task)s fails it.") % task)
    else:
        yield blocked(_("It was retracted, so it is not sent: %(task)s ends it.") % task)
    yield from overdue("oci_end_unsendable") or no_worker()


def blocked_by_pause_or_limits(row: Uploadable, limits: Any) -> Iterator[Blocker]:
    if row.site.is_paused:
        yield blocked(_("The site is paused: %(why)s") % {"why": row.site.pause_reason}, **site_link(row))
    if not limits.is_retry_due:
        yield waiting(_("It is retried at %(time)s, not earlier.") % {"time": moment(limits.next_retry_at)})
    if limits.attempts_left <= 0:
        yield blocked(_("It has used up its attempts: the scheduled task oci_attempt_cap will fail it."))
        yield from overdue("oci_attempt_cap") or no_worker()


def blocked_by_account(row: Uploadable) -> Iterator[Blocker]:
    if not Credentials.objects.filter(site=row.site).exists():
        sender = {"sender": row.site.get_sync_method_display()}
        yield blocked(_("The site uses the %(sender)s and has no credentials.") % sender, **site_link(row))
    for circuit in open_circuits([row.site.pk]).filter(action__in=["", row.action]):
        context = {
            "name": circuit.action,
            "code": circuit.code,
            "reason": explain(circuit.reason).rstrip("."),
            "time": moment(circuit.next_probe_at or timezone.now()),
        }
        message = (
            _("The circuit of %(name)s is open. %(code)s: %(reason)s. The next probe is sent at %(time)s.")
            if circuit.action
            else _("The site's circuit is open. %(code)s: %(reason)s. The next probe is sent at %(time)s.")
        )
        yield blocked(message % context, link=_("The circuit"), href=page_path(Site, "circuit", row.site.pk))
    yield from no_worker()


def _blocked_by_script(row: Conversion) -> Iterator[Blocker]:
    called = row.site.last_export_at
    if (called or row.site.created_at) < timezone.now() - SILENT_AFTER:
        last_call = _("The site's script last called %(span)s ago.") % {"span": distance(called)} if called else ""
        yield blocked(last_call or _("The site's script has never called."), **site_link(row))


def site_link(row: Uploadable, page: str = "change") -> dict[str, str]:
    return {"link": row.site.name, "href": page_path(Site, page, row.site.pk)}


def row_name(row: Conversion) -> str:
    """Return the source key, or else the end of the id, which differs between rows."""
    if row.source_key:
        return row.source_key
    # A corrected copy leaves the source key to its original, but people know it by that.
    if row.replaces and row.replaces.source_key:
        return _("%(name)s, corrected") % {"name": row.replaces.source_key}
    return f"…{str(row.pk)[-12:]}"


def is_perhaps_sent(row: Uploadable) -> bool:
    """Return whether a script had the row: it can say neither that Google answered nor that Google did not."""
    return row.site.sync_method == SyncMethod.SCRIPT


def doubt(row: Uploadable) -> str:
    """Say why Google may have the row; a retry changes nothing of that."""
    is_passing = row.provider_error_category == Category.TRANSIENT
    if is_perhaps_sent(row):
        return str(PERHAPS_SENT if is_passing else NOT_REPORTED)
    return str(UNKNOWN if is_passing or not row.provider_error_code else AN_EARLIER_ONE)
