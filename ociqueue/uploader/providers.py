"""The providers, by a site's sender, and the routes that its rows take: retractions may need another sender.

A provider's module is loaded only by the worker that uses it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

from django.utils.module_loading import import_string

from ociqueue.models import Adjustment, Conversion, Credentials, Site
from ociqueue.models.sending import UploadableQuerySet
from ociqueue.models.statements import kinds_of_due_adjustments
from ociqueue.states import ADJUSTMENTS, CONVERSIONS, AdjustmentKind, Category, Disposition, SyncMethod
from ociqueue.uploader.results import GATES, LaterProvider, Provider, RowResult


@dataclass(frozen=True)
class ProviderKind:
    # Of classes that are called with the site's GoogleAdsAccount, by the queue whose rows they send.
    paths: Mapping[str, str]
    replies_later: bool  # whether it is a LaterProvider: its rows wait in UPLOADED for the verdict


PROVIDERS: Mapping[SyncMethod, ProviderKind] = {
    SyncMethod.API: ProviderKind(
        {
            CONVERSIONS.queue: "ociqueue.uploader.googleads.provider.GoogleAds",
            ADJUSTMENTS.queue: "ociqueue.uploader.googleads.provider.GoogleAdsAdjustments",
        },
        replies_later=False,
    ),
    SyncMethod.DATA_MANAGER: ProviderKind(
        {
            CONVERSIONS.queue: "ociqueue.uploader.datamanager.provider.DataManager",
            ADJUSTMENTS.queue: "ociqueue.uploader.datamanager.provider.DataManagerAdjustments",
        },
        replies_later=True,
    ),
}


def sender_of(site: Site) -> SyncMethod:
    return SyncMethod(site.sync_method)


def provider_for(site: Site, sender: SyncMethod | None = None, *, queue: str = CONVERSIONS.queue) -> Provider:
    """Return a provider with the site's credentials, by default of its sender; raise DecryptionError if unreadable."""
    path = PROVIDERS[sender or sender_of(site)].paths[queue]
    provider: Provider = import_string(path)(Credentials.objects.get(site=site).account())
    return provider


def later_provider_for(site: Site, sender: SyncMethod, *, queue: str = CONVERSIONS.queue) -> LaterProvider:
    """Return the provider that took an upload, whatever sender the site has now."""
    if not PROVIDERS[sender].replies_later:
        raise ValueError(f"{sender} answers at once")
    return cast("LaterProvider", provider_for(site, sender, queue=queue))


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
