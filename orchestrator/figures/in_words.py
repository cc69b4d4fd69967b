"""The figures of a job in words: what is needed, and what each of it costs."""

from collections.abc import Iterator
from decimal import Decimal

from django.utils.formats import number_format
from django.utils.translation import gettext as _

from kilit.shares import share
from orchestrator.schemas.figures import AmountLine, Amounts, JobFigures, MissingAmount
from orchestrator.schemas.orders import plain

MOST_LINES = 100  # of an order with very many materials


def amounts_card(figures: JobFigures, notes: list[str]) -> dict[str, object]:
    amounts = figures.amounts
    facts = [(label, value) for label, value in _facts(figures) if value]
    if amounts is None:
        return {"facts": facts}
    return {
        "facts": facts,
        "lines": [_line(line, amounts.currency) for line in amounts.lines[:MOST_LINES]],
        "lines_beyond": max(0, len(amounts.lines) - MOST_LINES),
        "totals": list(totals(amounts)),
        "missing": [missing_text(amount) for amount in amounts.missing],
        "notes": notes,
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


def totals(amounts: Amounts) -> Iterator[tuple[str, str]]:
    if amounts.net is None:
        return
    percent = {"percent": number_format(plain(amounts.vat_percent))}
    yield _("Net"), _money(amounts.net, amounts.currency)
    yield _("VAT %(percent)s %%") % percent, _money(amounts.vat, amounts.currency)
    label = _("Estimate with VAT") if amounts.basis != "solution" else _("Total with VAT")
    yield label, _money(amounts.gross, amounts.currency)


def missing_text(missing: MissingAmount) -> str:
    if missing.source == "law":
        return _("The amounts do not add up: %(what)s.") % {"what": missing.section}
    if missing.source == "solution":
        return _("The solution does not say “%(name)s”.") % {"name": missing.section}
    if missing.entry:
        names = {"section": missing.section, "entry": missing.entry}
        return _("The rules have no price for %(section)s %(entry)s.") % names
    return _("The rules have no %(section)s.") % {"section": missing.section}


def notes_on(figures: JobFigures, *, is_finished: bool) -> Iterator[str]:
    """Say how far the amounts can be relied on."""
    amounts = figures.amounts
    if amounts is None:
        return
    if amounts.basis == "plan":
        yield _("Estimate: by a plan of the built-in optimiser.")
    if amounts.basis == "estimate" and amounts.waste_percent is not None:
        percent = {"percent": number_format(plain(amounts.waste_percent))}
        yield _("Estimate: the area of the parts and %(percent)s %% waste, without cuts and machine time.") % percent
    if figures.charged:
        yield _("Charged as if nothing were in stock: offcuts do not change the price of an order.")
    if figures.is_fixed:
        yield _("Fixed when the job was finished; new prices do not change it.")
    elif is_finished:
        yield _("By the prices in force now: no total was stored when the job was finished.")
    else:
        yield _("By the prices in force now. The amount is fixed when the job is finished.")
