"""A service with a key, and a site."""

from tests.support.fixtures.conversions import make_site, site
from tests.support.fixtures.cutting_jobs import api, make_api

__all__ = ["api", "make_api", "make_site", "site"]
