"""The providers, by a site's sender; a provider's module is loaded only by the worker that uses it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from django.utils.module_loading import import_string

from ociqueue.models import Credentials, Site
from ociqueue.states import SyncMethod
from ociqueue.uploader.results import LaterProvider, Provider


@dataclass(frozen=True)
class ProviderKind:
    path: str  # of a class that is called with the site's GoogleAdsAccount
    answers_later: bool  # whether it is a LaterProvider: its rows wait in UPLOADED for the verdict


PROVIDERS: Mapping[SyncMethod, ProviderKind] = {
    SyncMethod.API: ProviderKind("ociqueue.uploader.googleads.provider.GoogleAds", answers_later=False),
    SyncMethod.DATA_MANAGER: ProviderKind("ociqueue.uploader.datamanager.provider.DataManager", answers_later=True),
}


def sender_of(site: Site) -> SyncMethod:
    return SyncMethod(site.sync_method)


def provider_for(site: Site) -> Provider:
    """Return the provider of a site's sender with the site's credentials; raise DecryptionError if unreadable."""
    return _open(site, sender_of(site))


def later_provider_for(site: Site, sender: SyncMethod) -> LaterProvider:
    """Return the provider that took an upload, whatever sender the site has now."""
    if not PROVIDERS[sender].answers_later:
        raise ValueError(f"{sender} answers at once")
    return cast("LaterProvider", _open(site, sender))


def _open(site: Site, sender: SyncMethod) -> Provider:
    provider: Provider = import_string(PROVIDERS[sender].path)(Credentials.objects.get(site=site).account())
    return provider
