"""A site for the load test."""

from tests.support.fixtures.conversions import make_site, site, site_key

__all__ = ["make_site", "site", "site_key"]
