"""A site that uploads to a Google Ads server on loopback, and a worker that can be rung for."""

import pytest
from django.db.models.functions import Now

from kilit.workers.models import Heartbeat
from tests.support.fixtures.uploads import _google, api_site, google, make_api_site, make_rows

__all__ = ["_google", "api_site", "google", "make_api_site", "make_rows"]


@pytest.fixture
def _worker() -> None:
    """A supervisor that lives, so that bells are rung."""
    Heartbeat.objects.create(name="w1", alive_at=Now())
