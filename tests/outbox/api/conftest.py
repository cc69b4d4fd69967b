"""The API of webhooks as a site's key, people and owners see it."""

import pytest

from ociqueue.models import Site
from tests.support.api import Api
from tests.support.dashboard import make_site
from tests.support.outbox import API
from tests.support.people import make_user


@pytest.fixture
def site() -> Site:
    return make_site()


@pytest.fixture
def api(site: Site) -> Api:
    return Api(site.service_user(), root=API)


@pytest.fixture
def owner() -> Api:
    return Api(make_user("root", role="owner"), root=API)


@pytest.fixture
def viewer(site: Site) -> Api:
    return Api(make_user("viewer", role="viewer", sites=[site]), root=API)
