"""The providers, by a site's sender; a provider's module is loaded only by the worker that uses it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from django.utils.module_loading import import_string

from ociqueue.models import Credentials, Site
from ociqueue.states import ADJUSTMENTS, CONVERSIONS, SyncMethod
from ociqueue.uploader.results import LaterProvider, Provider


@dataclass(frozen=True)
class ProviderKind:
    # Of classes that are called with the site's GoogleAdsAccount, by the queue whose rows they send.
    paths: Mapping[str, str]
    answers_later: bool  # whether it is a LaterProvider: its rows wait in UPLOADED for the verdict


PROVIDERS: Mapping[SyncMethod, ProviderKind] = {
    SyncMethod.API: ProviderKind(
        {
            CONVERSIONS.queue: "ociqueue.uploader.googleads.provider.GoogleAds",
            ADJUSTMENTS.queue: "ociqueue.uploader.googleads.adjustments.GoogleAdsAdjustments",
        },
        answers_later=False,
    ),
    SyncMethod.DATA_MANAGER: ProviderKind(
        {
            CONVERSIONS.queue: "ociqueue.uploader.datamanager.provider.DataManager",
            ADJUSTMENTS.queue: "ociqueue.uploader.datamanager.adjustments.DataManagerAdjustments",
        },
        answers_later=True,
    ),
}


def sender_of(site: Site) -> SyncMethod:
    return SyncMethod(site.sync_method)


def provider_for(site: Site, sender: SyncMethod | None = None, *, queue: str = CONVERSIONS.queue) -> Provider:
    """Return a provider with the site's credentials, by default of its sender; raise DecryptionError if unreadable."""
    return _open(site, sender or sender_of(site), queue)


def later_provider_for(site: Site, sender: SyncMethod, *, queue: str = CONVERSIONS.queue) -> LaterProvider:
    """Return the provider that took an upload, whatever sender the site has now."""
    if not PROVIDERS[sender].answers_later:
        raise ValueError(f"{sender} answers at once")
    return cast("LaterProvider", _open(site, sender, queue))


def _open(site: Site, sender: SyncMethod, queue: str) -> Provider:
    provider: Provider = import_string(PROVIDERS[sender].paths[queue])(Credentials.objects.get(site=site).account())
    return provider
