"""A job's offer: its lines are the figures of the job, its seller is the company in the rules."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext_noop

from config.papers.messages import PaperRefused, PaperRequest
from config.papers.variables import customer_name
from kilit.lock.clock import database_time
from orchestrator.figures.job_figures import figures_of
from orchestrator.models import Job
from orchestrator.schemas.figures import AmountLine, Amounts
from orchestrator.schemas.orders import Order, plain
from orchestrator.schemas.rules import Company, Rules

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
}


def offer(job: Job, order: Order, rules: Rules, asked: PaperRequest) -> dict[str, Any]:
    company, amounts = offer_basis(job, rules)
    today = timezone.localtime(database_time()).date()
    return {
        "locale": asked.locale,
        "currency": amounts.currency,
        "number": f"{job.order_id} R{job.revision}" if job.revision else job.order_id,
        "issued_on": today.isoformat(),
        "valid_until": (today + timedelta(days=company.offer_valid_days)).isoformat(),
        "subject": word("subject", asked, job.order_id),
        "introduction": word("estimate", asked, plain(amounts.waste_percent)) if amounts.waste_percent else "",
        "seller": company.model_dump(exclude={"offer_valid_days"}, exclude_none=True),
        "buyer": {"name": customer_name(job) or job.customer_phone, "phone": job.customer_phone},
        "lines": [line_of(line, amounts, asked) for line in amounts.lines if line.quantity],
    }


def offer_basis(job: Job, rules: Rules) -> tuple[Company, Amounts]:
    """Return the seller and the amounts, or raise PaperRefused with what is missing."""
    figures = figures_of(job)
    if figures is None or figures.amounts is None:
        raise PaperRefused(gettext_noop("The rules have no prices."))
    if missing := figures.amounts.missing:
        raise PaperRefused(gettext_noop("A price or figure is missing: %(message)s"), message=missing[0].message)
    if rules.company is None:
        raise PaperRefused(gettext_noop("The rules have no company: add its name and address."))
    return rules.company, figures.amounts


def line_of(line: AmountLine, amounts: Amounts, asked: PaperRequest) -> dict[str, Any]:
    return {
        "description": word(line.kind, asked, line.name),
        "quantity": plain(line.quantity),
        "unit": word(line.unit, asked) if line.unit in WORDS else line.unit,
        "unit_price": plain(line.unit_price or Decimal(0)),
        "tax_rate": plain(amounts.vat_percent),
    }


def word(name: str, asked: PaperRequest, inner: str = "") -> str:
    return WORDS[name][asked.locale].format(name=inner)
