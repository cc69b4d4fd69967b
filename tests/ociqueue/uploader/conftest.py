"""An API site with a login at a Google Ads server on loopback, and the real client in between."""

from tests.support.fixtures.uploads import _google, api_site, google, make_api_site, make_rows, sold

__all__ = ["_google", "api_site", "google", "make_api_site", "make_rows", "sold"]
