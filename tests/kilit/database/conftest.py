"""Sites, jobs and receivers, and a connection that can be cut."""

from collections.abc import Iterator

import pytest

from tests.support.cut_commits import CuttingProxy, cutting_proxy
from tests.support.fixtures.conversions import api, make_site, site, site_key
from tests.support.fixtures.cutting_jobs import at_rest_at_once, customer, floor
from tests.support.fixtures.pdf_jobs import _own_store, artifact_folder
from tests.support.fixtures.uploads import _google, api_site, google, make_api_site, make_rows
from tests.support.fixtures.webhooks import endpoint_at, receiver

__all__ = [
    "_google",
    "_own_store",
    "api",
    "api_site",
    "artifact_folder",
    "at_rest_at_once",
    "customer",
    "endpoint_at",
    "floor",
    "google",
    "make_api_site",
    "make_rows",
    "make_site",
    "receiver",
    "site",
    "site_key",
]


@pytest.fixture
def proxy() -> Iterator[CuttingProxy]:
    with cutting_proxy() as proxy:
        yield proxy
