"""The providers, by a site's sender, and the routes that its rows take: retractions may need another sender.

A provider's module is loaded only by the worker that uses it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from django.utils.module_loading import import_string

from ociqueue.models import Adjustment, Conversion, Credentials, Site
from ociqueue.models.sending import UploadableQuerySet
from ociqueue.models.statements import kinds_of_due_adjustments
from ociqueue.states import ADJUSTMENTS, CONVERSIONS, AdjustmentKind, Category, Disposition, SyncMethod
from ociqueue.uploader.results import GATES, Provider, RowResult

# Classes that are called with the site's GoogleAdsAccount, by the queue whose rows they send.
PROVIDERS: Mapping[SyncMethod, Mapping[str, str]] = {
    SyncMethod.API: {
        CONVERSIONS.queue: "ociqueue.uploader.googleads.provider.GoogleAds",
        ADJUSTMENTS.queue: "ociqueue.uploader.googleads.provider.GoogleAdsAdjustments",
    },
    SyncMethod.DATA_MANAGER: {
        CONVERSIONS.queue: "ociqueue.uploader.datamanager.provider.DataManager",
        ADJUSTMENTS.queue: "ociqueue.uploader.datamanager.provider.DataManagerAdjustments",
    },
}
# Its classes are LaterProviders: rows wait in UPLOADED for the verdict.
REPLIES_LATER = SyncMethod.DATA_MANAGER


def sender_of(site: Site) -> SyncMethod:
    return SyncMethod(site.sync_method)


def provider_for(site: Site, sender: SyncMethod | None = None, *, queue: str = CONVERSIONS.queue) -> Provider:
    """Return a provider with the site's credentials, by default of its sender; raise DecryptionError if unreadable."""
    path = PROVIDERS[sender or sender_of(site)][queue]
    provider: Provider = import_string(path)(Credentials.objects.get(site=site).account())
    return provider


class Providers(dict[tuple[Site, SyncMethod, str], Any]):
    """The providers of a run, by site, sender and queue: a site may get another sender while the run goes on."""

    def __missing__(self, key: tuple[Site, SyncMethod, str]) -> Provider:
        site, sender, queue = key
        self[key] = provider = provider_for(site, sender, queue=queue)
        return provider


@dataclass(frozen=True)
class Route:
    rows: UploadableQuerySet[Any]
    sender: SyncMethod
    # Whether a fault of the account there is one of the site's own sender, and opens its circuit.
    is_sites_own: bool = True


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
