"""Scripts already in the field keep working unchanged."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from ociqueue.models import Conversion, Site
from tests.support.ads_script import ACK, ACK_FAILED, COMPLETED, EXPORT, Run, make_many, outcomes, run_under_node
from tests.support.api import Api
from tests.support.conversions import SALE

OLD_SCRIPT = Path(__file__).with_name("old_script.js")
PAGING_SCRIPT = Path(__file__).with_name("paging_script.js")


@pytest.fixture
def run_old_script(live_server, site_key) -> Callable[[Site], Run]:
    def run(site: Site) -> Run:
        config = {"baseUrl": live_server.url, "siteId": site.public_id, "apiKey": site_key(site)}
        return run_under_node(OLD_SCRIPT.read_text(), config=config)

    return run


def test_a_script_that_opens_with_the_handshake_works_unchanged(run_old_script, site, make_conversion) -> None:
    sold, worthless, foreign = (
        make_conversion(site, gclid="sold", value=10, currency="TRY"),
        make_conversion(site, gclid="worthless", value=0, currency="TRY"),
        make_conversion(site, gclid="foreign", value=10, currency="EUR"),
    )

    run = run_old_script(site)

    assert run.error is None
    assert run.calls == ["/api/oci/v2/verify", EXPORT, ACK, ACK_FAILED]
    verify, *others = run.requests
    assert "x-api-key" in verify["headers"]
    assert all(request["headers"]["Authorization"].startswith("Bearer ") for request in others)
    assert not any("x-api-key" in request["headers"] for request in others)
    assert "limit" not in others[0]["query"]
    assert run.cells("Order ID") == [sold.order_id]
    assert json.loads(run.logs[0])["ok"] is True
    [skipped] = outcomes(worthless)
    assert skipped[:3] == ("FAILED", "SKIPPED_BY_SCRIPT", "PERMANENT")
    assert outcomes(sold, foreign) == [COMPLETED, ("FAILED", "WRONG_CURRENCY", "VALIDATION", "Expected TRY")]


def test_an_old_script_gets_a_whole_day_without_a_limit(run_old_script, site) -> None:
    rows = make_many(site, 1200)

    run = run_old_script(site)

    assert run.error is None
    assert len(run.cells("Order ID")) == len(rows)
    assert Conversion.objects.filter(status="COMPLETED", attempt_count=1).count() == len(rows)


@pytest.mark.parametrize("reads", ["meta", "next_cursor"])
def test_a_script_that_collects_pages_gets_all_of_them_in_one_run(live_server, site, site_key, reads: str) -> None:
    rows = make_many(site, 5)
    config = {"baseUrl": live_server.url, "siteId": site.public_id, "apiKey": site_key(site), "reads": reads}

    run = run_under_node(PAGING_SCRIPT.read_text(), config=config)

    assert run.error is None
    assert run.calls == ["/api/oci/v2/verify", EXPORT, EXPORT, EXPORT, ACK]
    assert sorted(run.cells("Order ID")) == sorted(row.order_id for row in rows)
    assert set(outcomes(*rows)) == {COMPLETED}


def test_a_script_finds_the_hash_of_a_phone_by_the_name_it_looks_for(live_server, make_site, site_key) -> None:
    site = make_site(accepts_identifiers=True)
    hashed = "ab" * 32
    sale = {**SALE, "hashedPhoneNumber": hashed}
    sent = Api(site_key(site)).post("oci/conversions", {"siteId": site.public_id, "conversions": [sale]}).json()
    config = {"baseUrl": live_server.url, "siteId": site.public_id, "apiKey": site_key(site)}

    run = run_under_node(PAGING_SCRIPT.read_text(), config=config)

    assert sent["created"] == 1
    assert run.cells("Hashed Phone Number") == [hashed]
