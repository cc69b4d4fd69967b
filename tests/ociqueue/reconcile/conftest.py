"""An API site with a login at a Google Ads server on loopback, and the real client in between."""

from datetime import datetime
from uuid import uuid4

import pytest

from ociqueue.models import Credentials, Site, UploadBatch
from ociqueue.uploader.upload_run import upload_due
from simulators.googleads.books import BookEntry
from tests.support.fixtures.uploads import _google, api_site, google, make_api_site, make_rows
from tests.support.readback import DAY

__all__ = ["_google", "api_site", "google", "make_api_site", "make_rows"]


@pytest.fixture
def upload(google, make_rows):
    """Return a function that uploads rows and moves the upload to a time, here and in Google's books."""

    def make(site: Site, at: datetime, *, count: int = 3, failing: int = 0, **columns: object) -> BookEntry:
        good = [f"click-{uuid4()}" for _ in range(count)]
        bad = [f"FAIL-UNPARSEABLE_GCLID-{uuid4().hex}" for _ in range(failing)]
        make_rows(site, *good, *bad, **columns)
        before = len(google.books.entries)
        upload_due()
        for entry in google.books.entries[before:]:
            entry.at = at
        newest = UploadBatch.objects.order_by("-pk").first()
        UploadBatch.objects.filter(pk=newest.pk).update(created_at=at, sent_at=at, answered_at=at)
        # The site has had its actions since before.
        Credentials.objects.update(changed_at=at - 30 * DAY)
        return google.books.entries[-1]

    return make
