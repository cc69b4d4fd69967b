"""The rules in people's words, a section at a time, as the page of the rules shows them."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

from django.utils.formats import number_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from orchestrator.planning.plan import MissingRule
from orchestrator.planning.saws import size_text
from orchestrator.schemas.orders import plain
from orchestrator.schemas.rules import Rules, Saw

SIZES = {
    "cut": gettext_lazy("cut sizes, without edge bands"),
    "finished": gettext_lazy("finished sizes: mode D deducts the edge bands"),
}
GRAINS = [
    gettext_lazy("free"),
    gettext_lazy("along the length"),
    gettext_lazy("along the width"),
    gettext_lazy("mixed"),
]
RuleTexts = dict[str, tuple[str, list[str]]]  # by section: its title, and its values


def sections(rules: Rules, missing: list[MissingRule]) -> list[dict[str, Any]]:
    """Return the rules in people's words, with what an order needs and the rules do not have."""
    texts = {**_of_parts(rules), **_of_runs(rules), **_of_prices(rules)}
    if stock := rules.stock:
        size = f"{_number(stock.least_offcut_length_mm)} × {_number(stock.least_offcut_width_mm)} mm"
        texts["stock"] = (_("Stock"), [_("offcuts from %(size)s") % {"size": size}])
    if company := rules.company:
        texts["company"] = (_("Offer"), [company.name, company.address])
    return [
        {
            "name": name,
            "title": title,
            "values": values,
            "missing": [entry.words for entry in missing if entry.section == name],
        }
        for name, (title, values) in texts.items()
    ]


def _of_parts(rules: Rules) -> RuleTexts:
    plate = rules.default_plate_size
    return {
        "trimByThickness": (
            _("Trim by thickness"),
            [f"{_number(thick)} mm → {_number(trim)} mm" for thick, trim in sorted(rules.trim_by_thickness.items())],
        ),
        "backingThicknesses": (
            _("Thicknesses of backing parts"),
            [f"{_number(thickness)} mm" for thickness in sorted(rules.backing_thicknesses)],
        ),
        "edgeMapping": (
            _("Edges"),
            [f"{name} → {_('none') if mm is None else f'{_number(mm)} mm'}" for name, mm in rules.edge_mapping.items()],
        ),
        "grainMapping": (
            _("Grain"),
            [f"{name} → {grain} ({GRAINS[grain]})" for name, grain in rules.grain_mapping.items()],
        ),
        "defaultPlateSize": (
            _("Plate, if an order names none"),
            [f"{_number(plate.width_mm)} × {_number(plate.height_mm)} mm"] if plate else [],
        ),
    }


def _of_runs(rules: Rules) -> RuleTexts:
    return {
        "sizesAre": (_("Sizes in orders are"), [str(SIZES[rules.sizes_are])]),
        "optiModeDefault": (_("Mode, if an order names none"), [rules.opti_mode_default]),
        **({"cutBy": (_("Cut by"), [_("people, who record it here")])} if rules.cut_by == "hand" else {}),
        **({"saws": (_("Saws"), [_saw(saw) for saw in rules.saws])} if rules.saws else {}),
        **({"labelCode": (_("QR code on labels"), [_("a page for phones")])} if rules.label_code == "page" else {}),
        "timeouts": (
            _("Time limits"),
            [
                _("OptiPlanning: %(span)s") % {"span": _minutes(rules.timeouts.opti_xml)},
                _("the saw: %(span)s") % {"span": _minutes(rules.timeouts.osi_ack)},
            ],
        ),
        "retry_count_max": (
            _("Retries"),
            [
                _("at most %(number)s") % {"number": rules.retry_count_max},
                _("after %(spans)s") % {"spans": ", ".join(map(_minutes, rules.retry_backoff))},
            ],
        ),
        "cm_to_mm_multiplier": (_("Millimetres in a centimetre"), [_number(rules.cm_to_mm_multiplier)]),
        "xml_expected": (
            _("Solutions of OptiPlanning"),
            [_("one for each job") if rules.xml_expected == "job" else _("one for each sheet")],
        ),
    }


def _of_prices(rules: Rules) -> RuleTexts:
    prices = rules.prices
    if prices is None:
        return {"prices": (_("Prices"), [_("none: jobs have no amounts")])}
    per_unit = {_("cut"): prices.per_cut, _("machine minute"): prices.per_machine_minute}
    kinds = ((prices.board_per_m2, "/m²"), (prices.edge_per_metre, "/m"), (per_unit, ""))
    values = [
        _("VAT %(percent)s %%") % {"percent": _number(prices.vat_percent)},
        *(
            f"{name} → {_number(price)} {prices.currency}{unit}"
            for priced, unit in kinds
            for name, price in priced.items()
            if price is not None
        ),
    ]
    if prices.waste_percent is not None:
        values.append(_("waste in estimates: %(percent)s %%") % {"percent": _number(prices.waste_percent)})
    return {"prices": (_("Prices without VAT"), values)}


def _saw(saw: Saw) -> str:
    limits = [_("up to %(size)s") % {"size": size_text(saw.limits)}] if any(saw.limits) else []
    fed_by, everything = [_("people, who record it here")] if saw.by_hand else [], _("all plates")
    return f"{saw.name} → {'; '.join(filter(None, [*limits, ', '.join(saw.materials), *fed_by])) or everything}"


def _number(value: Decimal) -> str:
    """Return a number as the reader's language writes it, without zeros at its end."""
    return number_format(plain(value))


def _minutes(span: timedelta) -> str:
    return _("%(number)s min") % {"number": _number(Decimal(f"{span.total_seconds() / 60:g}"))}
