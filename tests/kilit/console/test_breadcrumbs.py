"""Every page below a list or a row says where it is: a breadcrumb whose last step is the page itself."""

import re
from html import unescape

import pytest

from tests.support.dashboard import make_conversions, make_site

pytestmark = pytest.mark.django_db

CRUMBS = re.compile(r'<nav aria-label="Breadcrumb".*?</nav>', re.DOTALL)
STEP = re.compile(r"<(?:a|span)[^>]*truncate[^>]*>(.*?)</(?:a|span)", re.DOTALL)


def steps(client, address: str) -> list[str]:
    (found,) = CRUMBS.findall(client.get(address, follow=True).text)
    return [unescape(step).strip() for step in STEP.findall(found)]


def test_every_page_has_a_breadcrumb_that_ends_with_it(admin_client) -> None:
    site = make_site("Ege")
    make_conversions(site, badly=1, source_keys=["order-7/a"])
    row, rows = site.conversions.get(), "/admin/ociqueue/conversion/"
    place = ["Sites", "Ege"]
    expected = {
        "/admin/workers/": ["Workers"],
        "/admin/preferences/": ["Dashboard", "Language and time zone"],
        f"{rows}import/": ["Conversions", "Import conversions"],
        f"{rows}groups/": ["Conversions", "Error groups of conversions"],
        f"{rows}all/retry/?status=FAILED": ["Conversions", "Retry: 1 conversion?"],
        f"{rows}{row.pk}/change/": ["Conversions", "order-7/a"],
        f"{rows}{row.pk}/retry/": ["Conversions", "Retry: 1 conversion?"],
        "/admin/ociqueue/adjustment/groups/": ["Conversions", "Adjustments", "Error groups of adjustments"],
        "/admin/orchestrator/rulesversion/": ["Jobs", "Setup"],
        f"/admin/ociqueue/site/{site.pk}/ads-script/": [*place, "Keys and script"],
        f"/admin/ociqueue/site/{site.pk}/credentials/": [*place, "Google"],
        f"/admin/ociqueue/site/{site.pk}/circuit/": [*place, "Google"],
        f"/admin/ociqueue/site/{site.pk}/change/": place,
        f"/admin/ociqueue/site/{site.pk}/settings/": [*place, "Settings"],
    }

    assert {address: steps(admin_client, address) for address in expected} == expected
