"""Sites, conversions and a Google Ads server on loopback."""

from tests.support.fixtures.conversions import api, make_conversion, make_person, make_site, site, site_key
from tests.support.fixtures.uploads import _google, api_site, google, make_api_site, make_rows

__all__ = [
    "_google",
    "api",
    "api_site",
    "google",
    "make_api_site",
    "make_conversion",
    "make_person",
    "make_rows",
    "make_site",
    "site",
    "site_key",
]
