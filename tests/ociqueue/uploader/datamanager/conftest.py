"""A Data Manager site with a login at a server on loopback, and the real HTTP in between."""

from tests.support.fixtures.adjustments import sold, work
from tests.support.fixtures.datamanager import _data_manager, data_manager, dm_site, let_time_pass, make_dm_site
from tests.support.fixtures.later import at_once, later, senders, stand_in, uploaded
from tests.support.fixtures.uploads import _google, google, make_rows

__all__ = [
    "_data_manager",
    "_google",
    "at_once",
    "data_manager",
    "dm_site",
    "google",
    "later",
    "let_time_pass",
    "make_dm_site",
    "make_rows",
    "senders",
    "sold",
    "stand_in",
    "uploaded",
    "work",
]
