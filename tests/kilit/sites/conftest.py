"""Sites with keys and conversions, their people, and the demo's."""

from tests.support.fixtures.conversions import api, make_conversion, make_site, site, site_key
from tests.support.fixtures.people import client_of, demo, showcase, stranger

__all__ = [
    "api",
    "client_of",
    "demo",
    "make_conversion",
    "make_site",
    "showcase",
    "site",
    "site_key",
    "stranger",
]
