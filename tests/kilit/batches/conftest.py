"""Failed conversions by the hundred, and operators who act on them."""

import pytest
from django.test import Client

from ociqueue.models import Site
from tests.support.fixtures.bulk_actions import make_failed, small_batches
from tests.support.fixtures.conversions import make_conversion, make_site, site
from tests.support.people import make_person

__all__ = ["make_conversion", "make_failed", "make_site", "site", "small_batches"]


@pytest.fixture
def operator(site: Site) -> Client:
    return make_person(sites={site: "operator"})
