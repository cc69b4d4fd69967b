"""Sites for the tests of query plans."""

from tests.support.fixtures.conversions import make_site

__all__ = ["make_site"]
