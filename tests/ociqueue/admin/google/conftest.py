"""A site that uploads to a Google Ads server on loopback."""

from tests.support.fixtures.uploads import _google, api_site, google, make_api_site, make_rows

__all__ = ["_google", "api_site", "google", "make_api_site", "make_rows"]
