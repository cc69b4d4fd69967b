"""Sites, conversions and people for the conversion queue's tests."""

from tests.support.fixtures.conversions import (
    admin,
    api,
    make_conversion,
    make_site,
    operator,
    site,
    site_key,
    viewer,
)

__all__ = ["admin", "api", "make_conversion", "make_site", "operator", "site", "site_key", "viewer"]
