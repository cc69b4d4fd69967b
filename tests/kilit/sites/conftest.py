"""Sites with keys and conversions, and one who manages all of them by API."""

import pytest
from django.contrib.auth.models import User

from tests.support.agency import agency_api
from tests.support.api import Api
from tests.support.fixtures.conversions import api, make_conversion, make_site, site, site_key

__all__ = ["api", "make_conversion", "make_site", "site", "site_key"]


@pytest.fixture
def root(admin_user: User) -> Api:
    return agency_api(admin_user)
