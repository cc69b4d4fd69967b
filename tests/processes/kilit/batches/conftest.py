"""Failed conversions, and operators who act on them."""

from tests.support.fixtures.bulk_actions import make_failed
from tests.support.fixtures.conversions import make_conversion, make_site, site

__all__ = ["make_conversion", "make_failed", "make_site", "site"]
