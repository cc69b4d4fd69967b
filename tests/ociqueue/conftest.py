"""Sites, conversions and people for the conversion queue's tests."""

from tests.support.fixtures.conversions import api, make_conversion, make_site, site, site_key

__all__ = ["api", "make_conversion", "make_site", "site", "site_key"]
