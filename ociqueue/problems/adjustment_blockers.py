"""What blocks an adjustment: its conversion, an older adjustment, or what blocks a conversion, too.

And what becomes of one that would be added now.
"""

from collections.abc import Iterable, Iterator

from django.utils.translation import gettext as _

from kilit.access.encryption import DecryptionError
from kilit.lock.models import Event
from kilit.problems.blockers import Blocker, blocked, ended, ready, waiting
from kilit.problems.links import row_path
from ociqueue.models import Adjustment, Conversion, Credentials
from ociqueue.problems import blockers
from ociqueue.problems.blockers import row_name
from ociqueue.states import IN_UPLOAD, WAITING, AdjustmentKind, ConversionStatus, SyncMethod
from ociqueue.uploader.providers import has_developer_token


def reasons(row: Adjustment, timeline: list[Event]) -> Iterator[Blocker]:
    completed = ended(_("Completed: Google has it. This state is final."))
    if not row.uploaded_at:
        completed = ended(_("Completed: the conversion ended here, so nothing had to be sent."), **_conversion(row))
    return blockers.reasons_of(row, timeline, completed=completed, failed=_failed, due=_due)


def _due(row: Adjustment, limits: object) -> Iterable[Blocker]:
    causes = [*_blocked_by_conversion(row), *blockers.blocked_by_pause_or_limits(row, limits), *_by_sender(row)]
    return causes or [ready(_("seconds"))]


def _failed(row: Adjustment, limits: object) -> Iterator[Blocker]:
    if row.is_overtaken:
        newest = Adjustment.objects.newest().filter(original=row.original_id).first()
        yield ended(_("A newer adjustment takes its place."), **(_other(newest) if newest else {}))
    elif row.original.status == ConversionStatus.FAILED:
        sentence = _("Its conversion failed, so there is nothing to adjust.")
        if row.original.outcome_unknown:
            sentence = _("Its conversion failed and its outcome is unknown: look it up in Google Ads by its order id.")
        yield ended(sentence, **_conversion(row))
    else:
        yield from blockers.failed(row, limits)


def _blocked_by_conversion(row: Adjustment) -> Iterator[Blocker]:
    if row.original.status != ConversionStatus.COMPLETED:
        sentence = _("State of its conversion: %(state)s. The adjustment is sent when the conversion was sent.")
        yield waiting(sentence % {"state": row.original.lifecycle.labels[row.original.status]}, **_conversion(row))
    older = Adjustment.objects.filter(original=row.original_id, status__in=IN_UPLOAD).first()
    if older:
        yield waiting(
            _("An older adjustment of the conversion is being sent. This one is sent after it."), **_other(older)
        )


def _by_sender(row: Adjustment) -> Iterator[Blocker]:
    sentence = _("The site's script cannot send adjustments: switch the site to an API.")
    is_script = row.site.sync_method == SyncMethod.SCRIPT
    yield from [blocked(sentence, **blockers.site_link(row))] if is_script else blockers.blocked_by_account(row)


def _conversion(row: Adjustment) -> dict[str, str]:
    return {"link": row_name(row.original), "href": row_path(row.original)}


def _other(row: Adjustment) -> dict[str, str]:
    return {"link": _("The adjustment"), "href": row_path(row)}


def what_happens(row: Conversion, kind: AdjustmentKind) -> str:
    if row.status != ConversionStatus.COMPLETED:
        if kind == AdjustmentKind.RETRACTION and row.status in WAITING and not row.outcome_unknown:
            return _("It has not been sent. Both end here and nothing is sent.")
        return _("It is sent to Google when the conversion was sent.")
    if kind == AdjustmentKind.RESTATEMENT:
        return _("The new value is sent to Google, where it takes the place of the current value.")
    if row.site.sync_method == SyncMethod.DATA_MANAGER and not _can_retract(row):
        return _("Data Manager cannot retract: the value becomes 0, the count stays.")
    return _("Google takes the conversion back: neither its value nor the conversion itself is counted any more.")


def _can_retract(row: Conversion) -> bool:
    try:
        return has_developer_token(row.site)
    except (Credentials.DoesNotExist, DecryptionError):
        return False
