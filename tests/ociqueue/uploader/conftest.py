"""An API site with a login at a Google Ads server on loopback, and the real client in between."""

import pytest

from ociqueue.uploader import upload_run
from tests.support.fixtures.uploads import _google, api_site, google, make_api_site, make_rows, sold

__all__ = ["_google", "api_site", "google", "make_api_site", "make_rows", "sold"]


@pytest.fixture
def die_after_sending(monkeypatch):
    """Upload with a worker that dies before it reads the answer; Google may have applied the request or not."""

    def run(*, is_applied: bool = False) -> None:
        def die(provider, rows, **_options):
            if is_applied:
                provider.upload(rows, dry_run=False)
            raise KeyboardInterrupt

        with monkeypatch.context() as dying:
            dying.setattr(upload_run, "send", die)
            with pytest.raises(KeyboardInterrupt):
                upload_run.upload_due()

    return run
