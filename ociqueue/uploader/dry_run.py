"""A dry run: Google validates what would be sent, and nothing is written anywhere."""

from collections.abc import Iterator

from ociqueue.models import Conversion, Site
from ociqueue.models.queryset import OLDEST_FIRST
from ociqueue.states import SyncMethod
from ociqueue.uploader.duplicates import DUPLICATE_IN_BATCH, split_duplicates
from ociqueue.uploader.googleads import MOST_ROWS
from ociqueue.uploader.results import Provider, RowResult


def dry_run_upload(site: Site, provider: Provider, *, limit: int = MOST_ROWS) -> Iterator[tuple[Conversion, RowResult]]:
    """Yield each due row with Google's answer; raise CredentialsRejected if the login fails."""
    rows = list(Conversion.objects.for_site(site).due().sent_by(SyncMethod.API).order_by(*OLDEST_FIRST)[:limit])
    if rows:
        provider.refresh()
        rows, duplicates = split_duplicates(provider, rows)
        yield from zip(rows, provider.upload(rows, dry_run=True), strict=True)
        yield from ((row, DUPLICATE_IN_BATCH) for row in duplicates)
