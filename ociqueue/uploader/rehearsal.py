"""The rehearsal: Google validates what would be sent, and nothing is written anywhere."""

from collections.abc import Iterator

from ociqueue.models import Conversion, Site
from ociqueue.models.queryset import OLDEST_FIRST
from ociqueue.states import SyncMethod
from ociqueue.uploader.duplicates import TWIN, apart
from ociqueue.uploader.googleads import MOST_ROWS
from ociqueue.uploader.results import Outcome, Provider


def rehearse(site: Site, provider: Provider, *, limit: int = MOST_ROWS) -> Iterator[tuple[Conversion, Outcome]]:
    """Return each row that is due with what Google says of it; raise CredentialsRefused when it does not let us in."""
    rows = list(Conversion.objects.for_site(site).due().sent_by(SyncMethod.API).order_by(*OLDEST_FIRST)[:limit])
    if rows:
        provider.refresh()
        rows, twins = apart(provider, rows)
        yield from zip(rows, provider.upload(rows, dry_run=True), strict=True)
        yield from ((row, TWIN) for row in twins)
