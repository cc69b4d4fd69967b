"""Demo data: a few customers, orders that run to the end, and orders that need an operator."""

import json
import sys
from typing import Any

from django.conf import settings

from kilit.lock.audit import acting_as
from kilit.lock.identity import uuid7
from orchestrator.drafts.imported import content_of, upload_of
from orchestrator.drafts.sending import save_draft
from orchestrator.models import Customer, Job, OrderDraft
from orchestrator.optiplanning.adapters import SIMULATOR
from orchestrator.orders.enqueue import enqueue
from orchestrator.orders.order import read_order
from orchestrator.planning.rules import SHIPPED, current_rules, rules_path
from orchestrator.planning.rules_history import digest, save_rules
from orchestrator.sheets.reading import read_sheet

CUSTOMERS = {"+905321112233": "Ege Mobilya", "+905334445566": "Deniz Mutfak", "+905357778899": "Çınar Ahşap"}
EGE, DENIZ, CINAR = CUSTOMERS
UNKNOWN = "+905360001122"


def part(number: int, **changes: object) -> dict[str, object]:
    return {
        "id": f"p{number}",
        "part_type": "GOVDE",
        "material_code": "MDF-18-BYZ",
        "length_cm": 60 + 7.25 * number,
        "width_cm": 35 + 2.5 * (number % 4),
        "quantity": 1 + number % 3,
        "grain": number % 3,
        "color": "Beyaz",
        "thickness_mm": 18,
        "edge_up": "1mm",
        "edge_lo": "040",
        **changes,
    }


def backing(number: int, **changes: object) -> dict[str, object]:
    thin = {"part_type": "ARKALIK", "material_code": "HDF-5", "thickness_mm": 5, "edge_lo": None}
    return part(number, **thin, **changes)


# With the simulator the first two run to DONE; the others show what an operator has to deal with.
ORDERS: list[dict[str, object]] = [
    {"order_id": "DEMO-1001", "customer_phone": EGE, "opti_mode": "A", "parts": [part(1), part(2), backing(3)]},
    {
        "order_id": "DEMO-1002",
        "customer_phone": DENIZ,
        "opti_mode": "A",
        "plate_size": {"width_mm": 1830, "height_mm": 3660},
        "parts": [part(number, color="Gümüş") for number in range(1, 9)],
    },
    {"order_id": "DEMO-1003", "customer_phone": CINAR, "opti_mode": "C", "parts": [part(1), part(2), backing(3)]},
    {"order_id": "DEMO-1004", "customer_phone": UNKNOWN, "opti_mode": "A", "parts": [part(1)]},
    {"order_id": "DEMO-1005", "customer_phone": EGE, "opti_mode": "A", "parts": [part(1, thickness_mm=16)]},
    {"order_id": "DEMO-1006", "customer_phone": DENIZ, "opti_mode": "A", "parts": [part(1, desc1="sim:saw-failed")]},
]


# Drafts: one that is ready to send, and a customer's list with a mistake in B5.
ROW = {"material_code": "MDF-18-BYZ", "color": "Beyaz", "thickness_mm": "18", "grain": "1", "edge_up": "1mm"}
READY: dict[str, Any] = {
    "unit": "mm",
    "fields": {"order_id": "DEMO-1007", "customer_phone": EGE, "customer_snapshot_name": "Ege Mobilya"},
    "rows": [
        {**ROW, "length": "720", "width": "560", "quantity": "2", "edge_lo": "1mm", "desc1": "yan"},
        {**ROW, "length": "562,5", "width": "540", "quantity": "1", "iidesc": "D1", "desc1": "raf"},
    ],
}
LIST_NAME = "DEMO-1008.csv"
LIST = """\
MÜŞTERİ: Deniz Mutfak;TELEFON: 0533 444 55 66;RENK: Gümüş;MALZEME: MDF-18-GMS
18MM;210*280
;BOY;EN;ADET;SU;U1;U2;K1;K2;DELİK;;NOT
;720;560;2;1;1MM;1MM;;;D1;;yan
;8OO;560;1;1;1MM;;;;;;raf
ARKALIK 5;715;590;1;0
"""

# As rules.json has them, so that the demo's jobs have amounts and offers.
PRICES = """\
  "prices": {
    "currency": "TRY",
    "vatPercent": 20,
    "boardPerM2": {"MDF-18-BYZ": 450, "HDF-5": 140, "*": 400},
    "edgePerMetre": {"040": 8.5, "1mm": 12, "2mm": 18},
    "perCut": 1.5,
    "perMachineMinute": 20,
    "wastePercent": 15
  },
  "company": {"name": "Kilit Ebatlama (demo)", "address": "Organize Sanayi Bölgesi 5. Cadde 12, Bursa"}
"""


def load_demo() -> None:
    """Create what is missing; the same orders are the same jobs."""
    with acting_as("demo"):
        save_prices()
    for phone, name in CUSTOMERS.items():
        Customer.objects.get_or_create(phone=phone, defaults={"name": name})
    with acting_as("demo"):
        for order in ORDERS:
            checked = read_order(order, default_mode="C")
            if not Job.objects.filter(order_id=checked.order_id).exists():
                enqueue(checked)
        save_drafts()


def save_drafts() -> None:
    rules = current_rules()
    sheet = read_sheet(LIST_NAME, LIST.encode(), rules)
    imported = content_of(sheet, rules), upload_of(sheet, LIST_NAME, LIST.encode())
    for content, upload in ((READY, None), imported):
        if not OrderDraft.objects.filter(order_id=content["fields"]["order_id"]).exists():
            save_draft(uuid7(), content, based_on=None, upload=upload)


def save_prices() -> None:
    """Add prices to the shipped rules, as a new version; rules that someone saved stay as they are."""
    if rules_path() == SHIPPED and plays_here():
        before = SHIPPED.read_bytes()
        content = f"{before.decode().rstrip().removesuffix('}').rstrip()},\n{PRICES}}}\n"
        settings.KILIT_VAR.mkdir(parents=True, exist_ok=True)
        save_rules(content.encode(), based_on=digest(before), reason="Prices of the demo")


def plays_here() -> bool:
    """Return whether the folders are the demo's: the simulator must never run in a factory's folders."""
    folders = (
        settings.OPTI_IMPORT_FOLDER,
        settings.OPTI_EXPORT_FOLDER,
        settings.SAW_FOLDER,
        *settings.SAW_FOLDERS.values(),
    )
    return not settings.PRODUCTION and all(folder.is_relative_to(settings.KILIT_VAR) for folder in folders)


def simulators_command() -> str:
    """Return the value of KILIT_OPTI_COMMAND that simulates OptiPlanning in mode A."""
    program = settings.BASE_DIR / SIMULATOR
    folder, plate = str(settings.OPTI_EXPORT_FOLDER), ["{plate_width}", "{plate_height}"]
    return json.dumps([sys.executable, str(program), "--export", folder, "--delay", "2", "--plate", *plate])
