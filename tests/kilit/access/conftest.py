"""Sites for keys, the demo's people, and a user who can reset a password."""

from tests.support.fixtures.conversions import make_conversion, make_site, site
from tests.support.fixtures.people import ayse, client_of, demo, mail_set_up, showcase, stranger

__all__ = ["ayse", "client_of", "demo", "mail_set_up", "make_conversion", "make_site", "showcase", "site", "stranger"]
