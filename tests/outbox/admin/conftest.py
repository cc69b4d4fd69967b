"""People, and endpoints of two sites and of the installation."""

from dataclasses import dataclass

import pytest

from ociqueue.models import Site
from outbox.models import Endpoint
from tests.support.fixtures.conversions import make_site, operator, site
from tests.support.outbox import make_endpoint

__all__ = ["house", "make_site", "operator", "site"]


@dataclass
class TwoSites:
    mine: Site
    theirs: Site
    of_mine: Endpoint
    of_theirs: Endpoint
    of_all: Endpoint


@pytest.fixture
def house(make_site) -> TwoSites:
    mine, theirs = make_site(name="Mine"), make_site(name="Theirs")
    url = "https://{}.example/hook?token=abcd1234"
    return TwoSites(
        mine,
        theirs,
        make_endpoint(url=url.format("mine"), scope=str(mine.pk)),
        make_endpoint(url=url.format("theirs"), scope=str(theirs.pk)),
        make_endpoint(url=url.format("everything")),
    )
