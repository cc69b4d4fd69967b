"""By which of Google's APIs the rows of a site go: a site has one sender, but retractions may need another."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from ociqueue.models import Adjustment, Conversion, Credentials, Site
from ociqueue.models.sending import UploadableQuerySet
from ociqueue.models.statements import kinds_of_due_adjustments
from ociqueue.states import AdjustmentKind, Category, SyncMethod
from ociqueue.uploader.providers import sender_of
from ociqueue.uploader.results import GATES, Disposition, RowResult


@dataclass(frozen=True)
class Route:
    rows: UploadableQuerySet[Any]
    sender: SyncMethod
    # Whether a fault of the account there is one of the site's own sender, and opens its circuit.
    is_sites_own: bool = True

    @property
    def queue(self) -> str:
        return str(self.rows.model.lifecycle.queue)


def routes_of(site: Site) -> Iterator[Route]:
    own = sender_of(site)
    yield Route(Conversion.objects.for_site(site), own)
    adjustments = Adjustment.objects.for_site(site)
    kinds = kinds_of_due_adjustments(site, own)
    if AdjustmentKind.RETRACTION in kinds and own == SyncMethod.DATA_MANAGER and has_developer_token(site):
        # The Data Manager API can set the value to 0, but the conversion would still count.
        yield Route(adjustments.filter(kind=AdjustmentKind.RETRACTION), SyncMethod.API, is_sites_own=False)
        adjustments = adjustments.filter(kind=AdjustmentKind.RESTATEMENT)
    if kinds:
        yield Route(adjustments, own)


def has_developer_token(site: Site) -> bool:
    return bool(Credentials.objects.get(site=site).account().developer_token)


def without_gate(result: RowResult) -> RowResult:
    """Return a result that concerns only its row: the site's own sender is not at fault."""
    if result.disposition not in GATES:
        return result
    return replace(result, disposition=Disposition.RETRY, category=result.category or Category.TRANSIENT)
