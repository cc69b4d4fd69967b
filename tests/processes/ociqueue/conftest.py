"""Sites, conversions, a Google Ads server on loopback, and the Ads Script of a site, whose HTTP goes to our server."""

from collections.abc import Callable
from functools import partial

import pytest

from ociqueue.models import Conversion, Site
from tests.support.ads_script import Run, run_site_script
from tests.support.fixtures.conversions import make_conversion, make_site, site, site_key
from tests.support.fixtures.uploads import _google, api_site, google, make_api_site

__all__ = ["_google", "api_site", "google", "make_api_site", "make_conversion", "make_site", "site", "site_key"]


@pytest.fixture
def run_script(live_server) -> Callable[..., Run]:
    return partial(run_site_script, live_server.url)


@pytest.fixture
def row(site: Site, make_conversion: Callable[..., Conversion]) -> Conversion:
    """A conversion that waits for the script."""
    return make_conversion(site)
