"""A job's figures on its page."""

from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal

from django.utils import timezone
from django.utils.formats import number_format
from django.utils.translation import gettext as _

from kilit.shares import share
from orchestrator.figures.job_figures import figures_of
from orchestrator.models import Job
from orchestrator.schemas.figures import AmountLine, Amounts, JobFigures, MissingAmount
from orchestrator.schemas.orders import plain
from orchestrator.states import JobState

MOST_LINES = 100  # of an order with very many materials


def figures_card(job: Job) -> dict[str, object] | None:
    """Return the figures as texts. Notes say how far the amounts can be relied on."""
    figures = figures_of(job)
    if figures is None:
        return None
    amounts = figures.amounts
    facts = [(label, value) for label, value in _facts(figures) if value]
    if amounts is None:
        return {"facts": facts}
    return {
        "facts": facts,
        "lines": [_line(line, amounts.currency) for line in amounts.lines[:MOST_LINES]],
        "lines_beyond": max(0, len(amounts.lines) - MOST_LINES),
        "totals": list(_totals(amounts)),
        "missing": [missing_text(amount) for amount in amounts.missing],
        "notes": list(_notes(job, figures, amounts)),
    }


def _facts(figures: JobFigures) -> Iterator[tuple[str, str]]:
    yield _("Pieces"), number_format(figures.pieces, force_grouping=True)
    yield _("Parts"), _quantity(figures.parts_m2, "m²")
    yield _("Boards"), _quantity(figures.boards_m2, "m²")
    yield _("Offcuts"), _quantity(figures.drops_m2, "m²")
    if figures.yield_percent is not None:
        percent = share(number_format(figures.yield_percent))
        yield _("Yield"), _("%(share)s of the boards become parts") % {"share": percent}
    yield _("Edge band"), " · ".join(f"{edge.edge}: {_quantity(edge.metres, 'm')}" for edge in figures.edges)
    yield _("Cuts"), number_format(figures.cuts, force_grouping=True) if figures.cuts is not None else ""
    yield _("Machine time"), _quantity(figures.machine_minutes, _("min"))


def _quantity(value: Decimal | None, unit: str) -> str:
    return f"{number_format(plain(value), force_grouping=True)} {unit}" if value is not None else ""


def _money(value: Decimal | None, currency: str, places: int | None = 2) -> str:
    return f"{number_format(value, places, force_grouping=True)} {currency}" if value is not None else "–"


def _line(line: AmountLine, currency: str) -> tuple[str, str, str, str]:
    names = {
        "boards": _("Boards %(name)s"),
        "edge": _("Edge band %(name)s"),
        "cuts": _("Cuts"),
        "machine": _("Machine time"),
    }
    units = {"pcs": "", "min": _("min")}
    quantity = _quantity(line.quantity, units.get(line.unit, line.unit)).strip()
    price = _money(line.unit_price, currency, places=None)
    return names[line.kind] % {"name": line.name}, quantity, price, _money(line.amount, currency)


def _totals(amounts: Amounts) -> Iterator[tuple[str, str]]:
    if amounts.net is None:
        return
    percent = {"percent": number_format(plain(amounts.vat_percent))}
    yield _("Net"), _money(amounts.net, amounts.currency)
    yield _("VAT %(percent)s %%") % percent, _money(amounts.vat, amounts.currency)
    label = _("Estimate with VAT") if amounts.basis == "estimate" else _("Total with VAT")
    yield label, _money(amounts.gross, amounts.currency)


def missing_text(missing: MissingAmount) -> str:
    if missing.source == "solution":
        return _("The solution does not say “%(name)s”.") % {"name": missing.section}
    if missing.entry:
        names = {"section": missing.section, "entry": missing.entry}
        return _("The rules have no price for %(section)s %(entry)s.") % names
    return _("The rules have no %(section)s.") % {"section": missing.section}


def _notes(job: Job, figures: JobFigures, amounts: Amounts) -> Iterator[str]:
    if amounts.basis == "estimate" and amounts.waste_percent is not None:
        percent = {"percent": number_format(plain(amounts.waste_percent))}
        yield _("Estimate: the area of the parts and %(percent)s %% waste, without cuts and machine time.") % percent
    if figures.is_fixed:
        yield _("Fixed when the job was finished; new prices do not change it.")
    elif job.status == JobState.DONE:
        yield _("By the prices in force now: no total was stored when the job was finished.")
    else:
        yield _("By the prices in force now. The amount is fixed when the job is finished.")


def last_month() -> dict[str, str]:
    last = timezone.localdate().replace(day=1) - timedelta(days=1)
    return {"first": f"{last.replace(day=1)}", "last": f"{last}"}
