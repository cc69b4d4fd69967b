"""What the grid offers while typing: names of the rules and of recent orders, and customers."""

import re
from uuid import UUID

from orchestrator.models import Customer, Job
from orchestrator.schemas.orders import plain
from orchestrator.schemas.rules import Rules

RECENT_JOBS = 30
MOST_PARTS_READ = 2_000  # of the recent jobs: an order may have 5,000
MOST_OFFERED = 50  # of one kind
MOST_CUSTOMERS = 10
COUNTRY = "90"


def suggest(rules: Rules | None) -> dict[str, list[str]]:
    """Return names to choose from, by their list: those of the rules first, then those used most recently."""
    parts = _recent_parts()
    thicknesses = sorted(rules.trim_by_thickness | dict.fromkeys(rules.backing_thicknesses)) if rules else []
    lists: dict[str, list[object]] = {
        "materials": [part["material_code"] for part in parts],
        "colours": [part["color"] for part in parts],
        "thicknesses": [*map(plain, thicknesses), *(part["thickness_mm"] for part in parts)],
        "edges": [name for name, mapped in rules.edge_mapping.items() if mapped is not None] if rules else [],
    }
    return {name: list(dict.fromkeys(map(str, offers)))[:MOST_OFFERED] for name, offers in lists.items()}


def _recent_parts() -> list[dict[str, object]]:
    """Return parts of the newest jobs, read from few rows however many jobs there are."""
    total = 0
    ids: list[UUID] = []
    for pk, count in Job.objects.order_by("-pk").values_list("pk", "part_count")[:RECENT_JOBS]:
        if total + count <= MOST_PARTS_READ:
            total += count
            ids.append(pk)
    payloads = Job.objects.filter(pk__in=ids).order_by("-pk").values_list("payload", flat=True)
    return [part for payload in payloads for part in payload["parts"]]


def find_customers(text: str) -> list[Customer]:
    """Return customers with a word of the name, or a phone, that begins with a text; few, whatever the text."""
    typed = text.strip()
    if not typed:
        return []
    digits = re.sub(r"[^0-9]", "", typed)
    rows = Customer.objects.all()
    if digits and not re.search(r"[^\d+()./ -]", typed):
        # National numbers are typed without the country's code.
        national = digits.removeprefix("00").removeprefix(COUNTRY).removeprefix("0")
        starts = {f"+{digits.removeprefix('00')}", f"+{COUNTRY}{national}"}
        customers = [row for start in sorted(starts) for row in rows.filter(phone__startswith=start)[:MOST_CUSTOMERS]]
    else:
        customers = list(rows.filter(name__words=typed)[:MOST_CUSTOMERS])
    return sorted({row.pk: row for row in customers}.values(), key=lambda row: row.name)[:MOST_CUSTOMERS]
