"""A job's cutting sheet and labels, as the variables of their PDF templates."""

from collections.abc import Iterator
from decimal import ROUND_HALF_UP
from typing import Any

from django.utils.translation import gettext_noop

from config.papers.messages import PaperRefused, PaperRequest, RangeTooLarge
from orchestrator.models import Customer, Job
from orchestrator.planning.plan import banded_sides, millimetres
from orchestrator.schemas.orders import CENTS, Order, Part, plain
from orchestrator.schemas.rules import Rules
from pdfjobs.documents.kinds.labels import MOST_LABELS

MOST_PARTS = 1000  # of a cutting sheet: with the longest texts still not too large to render
BACKING = {"tr": "arkalık", "en": "backing"}


def cutting_sheet(job: Job, order: Order, rules: Rules, asked: PaperRequest) -> dict[str, Any]:
    plate = order.plate_size or rules.default_plate_size
    if plate is None:
        raise PaperRefused(gettext_noop("The order has no plate size, and the rules have no defaultPlateSize."))
    wanted = requested_range(asked, len(order.parts), most=MOST_PARTS)
    short, long = sorted((plate.width_mm, plate.height_mm))
    materials: dict[str, dict[str, Any]] = {}
    for part in order.parts[wanted.start - 1 : wanted.stop - 1]:
        name = material_name(part, asked.locale)
        board = {"name": name, "board_length": plain(long), "board_width": plain(short), "parts": []}
        piece = {"name": part.id, "quantity": part.quantity, "note": part.desc1 or ""}
        materials.setdefault(name, board)["parts"].append(piece | panel(part, rules))
    return {
        "locale": asked.locale,
        "order_number": job.order_id,
        "customer": customer_name(job) or job.customer_phone,
        "materials": list(materials.values()),
        **waste_rate(rules),
    }


def waste_rate(rules: Rules) -> dict[str, str]:
    """Return what an offer adds for offcuts, so that both estimates have the same boards."""
    if rules.prices is None or rules.prices.waste_percent is None:
        return {}
    return {"waste_rate": plain(rules.prices.waste_percent.quantize(CENTS, ROUND_HALF_UP))}


def labels(job: Job, order: Order, rules: Rules, asked: PaperRequest) -> dict[str, Any]:
    wanted = requested_range(asked, piece_count(order), most=MOST_LABELS)
    return {
        "locale": asked.locale,
        "format": asked.format,
        "job": str(job.pk),
        "order_number": job.order_id,
        "customer": customer_name(job),
        "labels": [
            {
                "part": part.id,
                "piece": piece,
                "pieces": part.quantity,
                "number": number,
                "material": part.material_code,
                "color": part.color,
                "thickness": plain(part.thickness_mm),
                "note": part.desc1 or "",
                **panel(part, rules),
            }
            for part, piece, number in pieces(order.parts, wanted)
        ],
    }


def customer_name(job: Job) -> str:
    """Return the customer's name; a job that was not prepared yet has only the phone."""
    known = Customer.objects.filter(phone=job.customer_phone).values_list("name", flat=True)
    return job.customer_name or known.first() or ""


def piece_count(order: Order) -> int:
    return sum(part.quantity for part in order.parts)


def pieces(parts: list[Part], wanted: range) -> Iterator[tuple[Part, int, int]]:
    """Yield each wanted piece of an order: its part, which of the part's pieces it is, and its number in the order."""
    before = 0
    for part in parts:
        for number in range(max(wanted.start, before + 1), min(wanted.stop, before + part.quantity + 1)):
            yield part, number - before, number
        before += part.quantity


def panel(part: Part, rules: Rules) -> dict[str, Any]:
    return {
        "length": plain(millimetres(part.length_cm, rules)),
        "width": plain(millimetres(part.width_cm, rules)),
        "grain": part.grain,
        "drill_code": part.drill_code or "",
        **banded_sides(part, rules),
    }


def material_name(part: Part, locale: str) -> str:
    backing = f", {BACKING[locale]}" if part.part_type == "ARKALIK" else ""
    return f"{part.material_code[:50]}, {part.color[:60]}, {plain(part.thickness_mm)} mm{backing}"


def requested_range(asked: PaperRequest, total: int, *, most: int) -> range:
    """Return the numbers to print, of those from 1 to `total`."""
    last = total if asked.last is None else asked.last
    if not asked.first <= last <= total:
        sentence = gettext_noop("There are numbers from 1 to %(total)s, not %(first)s to %(last)s.")
        raise PaperRefused(sentence, total=total, first=asked.first, last=last)
    if last - asked.first >= most:
        sentence = gettext_noop(
            "A document takes %(most)s, not %(count)s. Print numbers %(first)s to %(end)s first, then the rest."
        )
        end = asked.first + most - 1
        raise RangeTooLarge(sentence, most=most, count=last - asked.first + 1, first=asked.first, end=end)
    return range(asked.first, last + 1)
