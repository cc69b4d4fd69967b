"""A day of a small shop: one machine with little memory, no OptiPlanning, no saw, and the money of each paper."""

import csv
import hashlib
import http.cookiejar
import io
import json
import re
import shutil
import urllib.parse
import urllib.request
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pypdfium2
import pytest

from orchestrator.cutting import solving
from orchestrator.planning.rules import SHIPPED
from tests.support.local_installation import Installation
from tests.support.waiting import PATIENCE, wait_until

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.skipif(bool(solving.missing()), reason="the optimiser needs Python 3.12"),
]

PHONE = "+905321234567"
RULES = {
    **json.loads(SHIPPED.read_text()),
    "optiModeDefault": "D",
    "cutBy": "hand",
    "prices": {
        "currency": "TRY",
        "vatPercent": 20,
        "boardPerM2": {"SUNTALAM": 450, "ARKALIK": 120},
        "edgePerMetre": {"1mm": 12},
    },
    "company": {"name": "Küçük Atölye", "address": "Sanayi Sitesi 7, Bursa"},
}
BODY = {"part_type": "GOVDE", "color": "Beyaz", "grain": 0}
ORDER = {
    "order_id": "DOLAP-1",
    "customer_phone": PHONE,
    "parts": [
        {**BODY, "id": "yan", "material_code": "SUNTALAM", "thickness_mm": 18, "length_cm": 72, "width_cm": 56}
        | {"quantity": 2, "edge_up": "1mm"},
        {**BODY, "id": "raf", "material_code": "SUNTALAM", "thickness_mm": 18, "length_cm": 56.5, "width_cm": 54}
        | {"quantity": 3, "edge_up": "1mm"},
        {**BODY, "id": "arka", "part_type": "ARKALIK", "material_code": "ARKALIK", "thickness_mm": 5}
        | {"length_cm": 71.5, "width_cm": 59, "quantity": 2},
    ],
}
# Worked out by hand: one board of 2.1 m × 2.8 m of each material, and the band of two sides and three shelves.
#   5.88 m² × 450 = 2,646.00    5.88 m² × 120 = 705.60    2 × 0.72 m + 3 × 0.565 m = 3.135 m × 12 = 37.62
NET, VAT, GROSS = Decimal("3389.22"), Decimal("677.84"), Decimal("4067.06")


class Shop(Installation):
    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.variables |= {"KILIT_SMALL": "1"}

    def ask(self, path: str, body: object = None) -> Any:
        return json.loads(self.read(path, body))

    def read(self, path: str, body: object = None) -> bytes:
        key = json.loads((self.folder / "demo.json").read_text())["service"]
        headers = {"x-api-key": key, "content-type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.address(path), data, headers)
        content: bytes = urllib.request.urlopen(request, timeout=PATIENCE).read()
        return content

    def save_rules(self, rules: dict[str, Any]) -> str:
        """Save them on the page of the rules, as the owner; return the page after."""
        username, password = re.search(r"owner\s+(\S+)\s+(\S+)", self.log.read_text()).groups()
        jar = http.cookiejar.CookieJar()
        browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar))

        def send(path: str, **form: str) -> str:
            token = next(cookie.value for cookie in jar if cookie.name == "csrftoken")
            data = urllib.parse.urlencode({**form, "csrfmiddlewaretoken": token}).encode()
            page: str = browser.open(self.address(path), data, timeout=PATIENCE).read().decode()
            return page

        browser.open(self.address("/admin/login/"), timeout=PATIENCE)
        send("/admin/login/", username=username, password=password)
        before = hashlib.sha256((self.folder / "rules.json").read_bytes()).hexdigest()
        text = json.dumps(rules, indent=2, ensure_ascii=False)
        return send("/admin/orchestrator/rulesversion/", content=text, based_on=before, reason="Our prices", save="1")

    def paper(self, job: str, kind: str) -> str:
        """Print a paper of a job, and return its text."""
        document = self.ask(f"/jobs/{job}/papers/{kind}", {})["job_id"]
        wait_until(lambda: self.ask(f"/pdf/jobs/{document}")["status"] == "succeeded")
        pdf = pypdfium2.PdfDocument(self.read(f"/pdf/jobs/{document}/download"))
        return "\n".join(page.get_textpage().get_text_range() for page in pdf)


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    made = Shop(tmp_path / "var")
    try:
        yield made
    finally:
        made.stop()
        shutil.rmtree(made.database, ignore_errors=True)


def amounts_in(text: str) -> set[Decimal]:
    """Return the amounts of a Turkish paper, such as 4.067,06."""
    return {Decimal(each.replace(".", "").replace(",", ".")) for each in re.findall(r"\d[\d.]*,\d\d", text)}


def test_a_small_shop_gets_from_nothing_to_a_paid_order(shop: Shop) -> None:
    shop.up()
    assert "Saved. The rules apply" in shop.save_rules(RULES)
    shop.ask("/customers", {"phone": PHONE, "name": "Deniz Mutfak", "address": "Çarşı 1, Bursa"})

    estimated = shop.ask("/jobs/estimate", ORDER)["figures"]["amounts"]
    job = shop.ask("/jobs", ORDER)["job"]["id"]
    wait_until(lambda: shop.ask(f"/jobs/{job}")["job"]["state"] == "XML_READY")
    offer = shop.paper(job, "offer")
    shop.ask(f"/jobs/{job}/cut-by-hand", {"boards": 1})
    done = shop.ask(f"/jobs/{job}/cut-by-hand", {"boards": 2})["job"]
    invoice = shop.paper(job, "invoice")
    finished = shop.read("/jobs/figures.csv?from=2020-01-01T00:00:00Z&to=2100-01-01T00:00:00Z").decode("utf-8-sig")
    (line,) = [row for row in csv.DictReader(io.StringIO(finished)) if row["orderId"] == "DOLAP-1"]

    assert done["state"] == "DONE"
    assert [Decimal(str(estimated[name])) for name in ("net", "vat", "gross")] == [NET, VAT, GROSS]
    assert {NET, VAT, GROSS} <= amounts_in(offer)
    assert {NET, VAT, GROSS} <= amounts_in(invoice)
    assert [Decimal(line[name]) for name in ("net", "vat", "gross")] == [NET, VAT, GROSS]
