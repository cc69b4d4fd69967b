"""The papers of a job, as the variables of their PDF templates."""

from datetime import timedelta
from decimal import ROUND_HALF_UP, Decimal
from typing import Annotated, Any, Literal, get_args

from django.utils import timezone
from django.utils.translation import gettext, gettext_noop
from pydantic import Field

from config.papers.plans import board_plans, label_pieces
from kilit.api.input_model import Expected, InputModel, InvalidInput
from kilit.lock.clock import database_time
from orchestrator.cutting.estimates import estimate
from orchestrator.cutting.solving import missing as no_optimiser
from orchestrator.errors import JobError
from orchestrator.figures.job_figures import NO_WASTE, figures_of
from orchestrator.job_links import PIECE_LINK
from orchestrator.models import Customer, Job
from orchestrator.orders.order import order_from
from orchestrator.planning.plan import banded_sides
from orchestrator.planning.rules import current_rules
from orchestrator.schemas.figures import AmountLine, Amounts
from orchestrator.schemas.orders import CENTS, Order, Part, plain
from orchestrator.schemas.rules import Company, Rules
from orchestrator.states import JobState
from pdfjobs.documents.kinds.labels import MOST_LABELS
from pdfjobs.job_request import JobRequest, parse_job_request

PaperKind = Literal["cutting_sheet", "labels", "offer", "delivery_note", "invoice"]
LabelSize = Literal["70x37", "105x57", "100x50"]
Number = Annotated[int, Field(ge=1, le=10**8), Expected("a whole number from 1 to 100,000,000")]
MOST_PARTS = 1000  # of a cutting sheet: with the longest texts still not too large to render
BACKING = {"tr": "arkalık", "en": "backing"}
# In Turkish and English, as documents are.
WORDS = {
    "boards": {"tr": "Plaka {name}", "en": "Board {name}"},
    "edge": {"tr": "Kenar bandı {name}", "en": "Edge band {name}"},
    "cuts": {"tr": "Kesim", "en": "Cuts"},
    "machine": {"tr": "Makine süresi", "en": "Machine time"},
    "pcs": {"tr": "adet", "en": "pcs"},
    "min": {"tr": "dk", "en": "min"},
    "subject": {"tr": "Ebatlama ve kenar bantlama, sipariş {name}", "en": "Cutting and edge banding, order {name}"},
    "estimate": {
        "tr": "Plaka miktarı, parçaların alanına %{name} fire eklenerek tahmin edilmiştir.",
        "en": "The boards are an estimate: the area of the parts and {name}% for offcuts.",
    },
    "plan": {
        "tr": "Plaka miktarı, bu parçaların kesim planına göre hesaplanmıştır.",
        "en": "The boards are those of a cutting plan for these parts.",
    },
}
KINDS: tuple[PaperKind, ...] = get_args(PaperKind)


class PaperRequest(InputModel):
    locale: Literal["tr", "en"] = Field("tr", description="The language of the document.")
    format: LabelSize = Field("70x37", description="Of labels: the size of one in millimetres.")
    first: Number = Field(1, description="The first label, or of a cutting sheet or delivery note the first part.")
    last: Number | None = Field(None, description="The last one. Default: the last one of the job.")

    examples = {"labels on a roll": {"format": "100x50"}}


class PaperRefused(Exception):
    """Why a job cannot be printed as requested. The sentence is marked for translation, for people in the console."""

    def __init__(self, sentence: str, **values: Any) -> None:
        super().__init__(sentence % values)
        self.sentence, self.values = sentence, values

    @property
    def translated(self) -> str:
        return gettext(self.sentence) % self.values


class NoAddress(PaperRefused):
    """The customer's page has to say more."""


def cutting_sheet(job: Job, order: Order, rules: Rules, paper: PaperRequest) -> dict[str, object]:
    plate = rules.plate_of(order)
    if plate is None:
        raise PaperRefused(gettext_noop("The order has no plate size, and the rules have no defaultPlateSize."))
    wanted = requested_range(paper, len(order.parts), most=MOST_PARTS)
    short, long = sorted((plate.width_mm, plate.height_mm))
    waste = rules.prices.waste_percent if rules.prices else None
    materials: dict[str, dict[str, Any]] = {}
    for part in order.parts[wanted.start - 1 : wanted.stop - 1]:
        name = material_name(part, paper.locale)
        board = {"name": name, "board_length": plain(long), "board_width": plain(short), "parts": []}
        piece = {"name": part.id, "quantity": part.quantity, "note": part.desc1 or ""}
        materials.setdefault(name, board)["parts"].append(piece | panel(part, rules))
    return {
        "locale": paper.locale,
        "order_number": job.order_id,
        "customer": buyer_of(job)["name"],
        "due_on": job.due_on.isoformat() if job.due_on else None,
        "sizes": rules.sizes_are,
        "materials": list(materials.values()),
        "plans": board_plans(job, order) if wanted.start == 1 else [],
        # As an offer adds it, so that both estimates have the same boards.
        **({"waste_rate": plain(waste.quantize(CENTS, ROUND_HALF_UP))} if waste is not None else {}),
    }


def labels(job: Job, order: Order, rules: Rules, paper: PaperRequest) -> dict[str, Any]:
    wanted = requested_range(paper, piece_count(order), most=MOST_LABELS)
    codes = page_codes(job, order) if rules.label_code == "page" else None
    return {
        "locale": paper.locale,
        "format": paper.format,
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
                **({"code": f"{codes[part.id]}/{piece}"} if codes else {}),
            }
            for part, piece, number in label_pieces(job, order, wanted)
        ],
    }


def page_codes(job: Job, order: Order) -> dict[str, str]:
    """Return the address of each part's pages, by its id; the job gets a link if it has no valid one."""
    PIECE_LINK.create(job)
    address = PIECE_LINK.url_of(job, 1, 1).removesuffix("/1/1")
    return {part.id: f"{address}/{number}" for number, part in enumerate(order.parts, start=1)}


def customer_of(job: Job) -> Customer:
    """Return the customer; a job that was not prepared yet may have only the phone."""
    return Customer.objects.filter(phone=job.customer_phone).first() or Customer(phone=job.customer_phone)


def customer_name(job: Job) -> str:
    return job.customer_name or customer_of(job).name


def buyer_of(job: Job) -> dict[str, str]:
    customer = customer_of(job)
    name = job.customer_name or customer.name or job.customer_phone
    details = {field: getattr(customer, field) for field in ("address", "tax_office", "tax_number", "phone")}
    return {"name": name, **details}


def piece_count(order: Order) -> int:
    return sum(part.quantity for part in order.parts)


def panel(part: Part, rules: Rules) -> dict[str, object]:
    return {
        "length": plain(rules.millimetres(part.length_cm)),
        "width": plain(rules.millimetres(part.width_cm)),
        "grain": part.grain,
        "drill_code": part.drill_code or "",
        **banded_sides(part, rules),
    }


def material_name(part: Part, locale: str) -> str:
    backing = f", {BACKING[locale]}" if part.is_backing else ""
    return f"{part.material_code[:50]}, {part.color[:60]}, {plain(part.thickness_mm)} mm{backing}"


def requested_range(paper: PaperRequest, total: int, *, most: int) -> range:
    last = total if paper.last is None else paper.last
    if not paper.first <= last <= total:
        sentence = gettext_noop("There are numbers from 1 to %(total)s, not %(first)s to %(last)s.")
        raise PaperRefused(sentence, total=total, first=paper.first, last=last)
    if last - paper.first >= most:
        sentence = gettext_noop(
            "A document takes %(most)s, not %(count)s. Print numbers %(first)s to %(end)s first, then the rest."
        )
        end = paper.first + most - 1
        raise PaperRefused(sentence, most=most, count=last - paper.first + 1, first=paper.first, end=end)
    return range(paper.first, last + 1)


def offer(job: Job, order: Order, rules: Rules, paper: PaperRequest) -> dict[str, object]:
    company, amounts = offer_basis(job, rules)
    amounts = settled(order, rules, amounts)
    today = timezone.localtime(database_time()).date()
    return {
        **priced(job, company, amounts, paper),
        "issued_on": today.isoformat(),
        "valid_until": (today + timedelta(days=company.offer_valid_days)).isoformat(),
        "subject": word("subject", paper, job.order_id),
        "introduction": introduction(amounts, paper),
    }


def invoice(job: Job, order: Order, rules: Rules, paper: PaperRequest) -> dict[str, object]:
    company, amounts = invoice_basis(job, rules)
    amounts = settled(order, rules, amounts)
    return {**priced(job, company, amounts, paper), "issued_on": day_of_cutting(job)}


def delivery_note(job: Job, order: Order, rules: Rules, paper: PaperRequest) -> dict[str, object]:
    if job.is_cut_in_part:
        raise PaperRefused(gettext_noop("Only a part of it was cut, and nobody recorded which pieces."))
    wanted = requested_range(paper, len(order.parts), most=MOST_PARTS)
    parts = order.parts[wanted.start - 1 : wanted.stop - 1]
    return {
        **parties(job, company_of(rules), paper),
        "issued_on": day_of_cutting(job),
        "parts": [
            {
                "name": part.id,
                "material": material_name(part, paper.locale),
                "length": plain(rules.millimetres(part.length_cm)),
                "width": plain(rules.millimetres(part.width_cm)),
                "quantity": part.quantity,
                "note": part.desc1 or "",
            }
            for part in parts
        ],
    }


def parties(job: Job, company: Company, paper: PaperRequest) -> dict[str, object]:
    return {
        "locale": paper.locale,
        "number": f"{job.order_id} R{job.revision}" if job.revision else job.order_id,
        "seller": company.model_dump(exclude={"offer_valid_days"}, exclude_none=True),
        "buyer": buyer_of(job),
    }


def priced(job: Job, company: Company, amounts: Amounts, paper: PaperRequest) -> dict[str, object]:
    lines = [line_of(line, amounts, paper) for line in amounts.lines if line.quantity]
    return {**parties(job, company, paper), "currency": amounts.currency, "lines": lines}


def day_of_cutting(job: Job) -> str:
    """Return when the job was finished, so that a paper is the same whenever it is printed."""
    if job.status != JobState.DONE or job.finished_at is None:
        raise PaperRefused(gettext_noop("The job is not done yet."))
    return timezone.localtime(job.finished_at).date().isoformat()


def invoice_basis(job: Job, rules: Rules) -> tuple[Company, Amounts]:
    day_of_cutting(job)
    if not customer_of(job).address:
        raise NoAddress(gettext_noop("The customer has no address."))
    return offer_basis(job, rules)


def offer_basis(job: Job, rules: Rules) -> tuple[Company, Amounts]:
    figures = figures_of(job)
    if figures is None or figures.amounts is None:
        raise PaperRefused(gettext_noop("The rules have no prices."))
    # A plan knows the boards without wastePercent.
    if figures.amounts.missing != (NO_WASTE,) or no_optimiser():
        complete(figures.amounts)
    return company_of(rules), figures.amounts


def company_of(rules: Rules) -> Company:
    if rules.company is None:
        raise PaperRefused(gettext_noop("The rules have no company: add its name and address."))
    return rules.company


def settled(order: Order, rules: Rules, amounts: Amounts) -> Amounts:
    """Return the amounts of a job; as long as they are an estimate, by a plan if there is one."""
    return complete(planned_amounts(order, rules) or amounts) if amounts.basis == "estimate" else amounts


def complete(amounts: Amounts) -> Amounts:
    if missing := amounts.missing:
        raise PaperRefused(gettext_noop("A price or figure is missing: %(message)s"), message=missing[0].message)
    return amounts


def planned_amounts(order: Order, rules: Rules) -> Amounts | None:
    """Return the amounts by a plan of the built-in optimiser, or None if there is no plan right now."""
    try:
        return estimate(order, rules).figures.amounts
    except JobError:
        return None


def introduction(amounts: Amounts, paper: PaperRequest) -> str:
    if amounts.basis == "plan":
        return word("plan", paper)
    return word("estimate", paper, plain(amounts.waste_percent)) if amounts.waste_percent else ""


def line_of(line: AmountLine, amounts: Amounts, paper: PaperRequest) -> dict[str, object]:
    return {
        "description": word(line.kind, paper, line.name),
        "quantity": plain(line.quantity),
        "unit": word(line.unit, paper) if line.unit in WORDS else line.unit,
        "unit_price": plain(line.unit_price or Decimal(0)),
        "tax_rate": plain(amounts.vat_percent),
    }


def word(name: str, paper: PaperRequest, inner: str = "") -> str:
    return WORDS[name][paper.locale].format(name=inner)


VARIABLES = {
    "cutting_sheet": cutting_sheet,
    "labels": labels,
    "offer": offer,
    "delivery_note": delivery_note,
    "invoice": invoice,
}


def paper_request(job: Job, kind: PaperKind, paper: PaperRequest) -> JobRequest:
    """Return the request for a PDF, or raise PaperRefused or UnknownTemplateError."""
    try:
        variables = VARIABLES[kind](job, order_from(job.payload), current_rules(), paper)
        return parse_job_request({"template_name": kind, "variables": variables})
    except JobError as error:
        raise PaperRefused("%(message)s", message=error.message) from None
    except InvalidInput as error:  # an order may have more kinds of boards than a document, or smaller plates
        raise PaperRefused(gettext_noop("This cannot be printed: %(message)s"), message=error.lines[0]) from None
