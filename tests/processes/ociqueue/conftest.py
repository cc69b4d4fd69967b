"""Sites, conversions and Google's servers on loopback."""

from tests.support.fixtures.conversions import api, make_conversion, make_site, site, site_key
from tests.support.fixtures.datamanager import _data_manager, data_manager, dm_site, let_time_pass, make_dm_site
from tests.support.fixtures.uploads import _google, api_site, google, make_api_site, make_rows

__all__ = [
    "_data_manager",
    "_google",
    "api",
    "api_site",
    "data_manager",
    "dm_site",
    "google",
    "let_time_pass",
    "make_api_site",
    "make_conversion",
    "make_dm_site",
    "make_rows",
    "make_site",
    "site",
    "site_key",
]
