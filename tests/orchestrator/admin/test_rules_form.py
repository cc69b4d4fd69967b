"""The rules in fields and rows: the same file, checks and history as their text."""

import json

import pytest
from django.http import QueryDict
from django.utils import translation
from django.utils.http import urlencode

from orchestrator.admin.rules_form import RulesRows
from orchestrator.models import RulesProposal, RulesVersion
from orchestrator.planning.rules import current_rules, read_rules
from orchestrator.planning.rules_history import digest
from tests.support.cutting_rules import COMPANY, PAGE, PRICES, SHIPPED, text_with

pytestmark = pytest.mark.django_db
ROWS = f"{PAGE}rows/"


def posted(rules_file, button: str = "save", **changes: object) -> dict[str, object]:
    """Return the form as it is shown, with changes; each row is a tuple of its texts."""
    rows = RulesRows.of(rules_file.read_text())
    lists = {
        f"{name}-{column}": [line[column].value for line in lines]
        for name, lines in rows.rows.items()
        for column in (lines[0] if lines else ())
    }
    fields = {name: cell.value or (cell.choices and cell.choices[0][0]) or "" for name, cell in rows.fields.items()}
    saved = {"based_on": digest(rules_file.read_bytes()), "reason": "new prices", button: "1"}
    return {**fields, **lists, **saved, **changes}


SAWS = [
    {"name": "Testere 1", "longestMm": 2800, "widestMm": 2100.5, "materials": ["MAT-01", "MAT-02"]},
    {"name": "El", "byHand": True},
]


def test_a_fault_of_a_saw_is_beside_its_field(make_person, rules_file) -> None:
    saws = {
        "saws-name": ["Testere 1", "Testere 2", "Testere 1"],
        "saws-longestMm": ["2.800,0", "0", ""],
        **{f"saws-{name}": ["", "", ""] for name in ("widestMm", "thickestMm", "materials", "byHand")},
    }
    rows = RulesRows.typed(QueryDict(urlencode({**posted(rules_file), **saws, "cutBy": "saw"}, doseq=True)))

    with translation.override("tr"):
        rows.compose(rules_file.read_text())

    found = [[cell.error for cell in row.values() if cell.error] for row in rows.rows["saws"]]
    assert found == [
        [],
        ["0'dan büyük, en çok 10.000 olan bir sayı bekleniyor."],
        ["Testere 1 başka bir satırda da var."],
    ]
    assert not rows.faults


def board(*rows: tuple[str, str, str]) -> dict[str, list[str]]:
    columns = ("boards-material", "boards-thickness", "boards-price")
    return dict(zip(columns, map(list, zip(*rows, strict=True)), strict=True))


def test_an_owner_saves_prices_with_turkish_numbers_and_nothing_else_changes(make_person, rules_file) -> None:
    owner = make_person(role="owner")
    prices = {"prices.currency": "TRY", "prices.vatPercent": "20"}
    boards = board(("MAT-01", "18", "1.234,50"), ("*", "", "450"), ("", "", ""))

    answer = owner.post(ROWS, posted(rules_file, **prices, **boards), follow=True)

    assert "Saved. The rules apply" in answer.text
    expected = {"currency": "TRY", "vatPercent": 20, "boardPerM2": {"MAT-01 18mm": 1234.5, "*": 450}}
    assert json.loads(rules_file.read_text()) == {**SHIPPED, "prices": expected}
    assert float(current_rules().prices.of_board("MAT-01", "18")) == 1234.5
    assert RulesVersion.objects.get(reason="new prices").actor == "admin:ayse"


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"prices": PRICES, "company": COMPANY},
        {"cutting": {"kerfMm": 4.25}},
        {"saws": SAWS},
        {"stock": {}},
        {"stock": {"leastOffcutWidthMm": 250.5}},
    ],
)
def test_what_is_shown_is_saved_as_it_was(make_person, rules_file, more) -> None:
    rules_file.write_text(text_with(**more))

    for language in ("en", "tr"):
        with translation.override(language):
            rows = RulesRows.of(rules_file.read_text())
        assert rows.compose(rules_file.read_text()) == rules_file.read_text()
        assert not rows.fault_count
    answer = make_person(role="owner").post(ROWS, posted(rules_file), follow=True)

    assert "Nothing was saved: these are the rules in force." in answer.text
    assert not RulesVersion.objects.exists()


def test_a_number_that_could_be_a_thousand_is_shown_with_another_zero(rules_file) -> None:
    text = text_with(prices={**PRICES, "perCut": 1.205})

    with translation.override("tr"):
        rows = RulesRows.of(text)

    assert rows.fields["prices.perCut"].value == "1,2050"
    assert rows.compose(text) == text


def test_each_fault_is_beside_its_field_in_words_and_what_was_typed_stays(make_person, rules_file) -> None:
    before = rules_file.read_text()
    wrong = posted(
        rules_file,
        **board(("MAT-01", "", "many"), ("MAT-01", "", "5"), ("MAT-02", "", ""), ("", "18", "5")),
        **{
            "prices.currency": "lira",
            "cutting.stages": "7",
            "defaultPlateSize.width_mm": "",
            "cutting.kerfMm": "1.205",
        },
    )

    shown = make_person(role="owner").post(ROWS, wrong)

    assert rules_file.read_text() == before
    rows = shown.context["rows"]
    assert [cell.error for row in rows.rows["boards"] for cell in row.values()] == [
        *("", "", "Not a number."),
        *("MAT-01 is in another row, too.", "", ""),
        *("", "", "Fill this in."),
        *("Fill this in.", "", ""),
    ]
    errors = {name: cell.error for name, cell in rows.fields.items() if cell.error}
    assert errors == {
        "prices.currency": "Expected a currency of three capital letters, such as TRY.",
        "prices.vatPercent": "Fill this in.",
        "cutting.stages": "Expected 2 or 3.",
        "defaultPlateSize.width_mm": "Fill this in.",
        "cutting.kerfMm": "Ambiguous: 1.205 could be 1205 or 1.205. Write 1205 or 1.2050.",
    }
    assert "Nothing was saved: 9 entries need a correction." in shown.text
    assert 'value="many"' in shown.text
    assert 'id="prices.currency-error"' in shown.text


def test_rows_are_added_and_removed_without_being_saved(make_person, rules_file) -> None:
    owner, before = make_person(role="owner"), rules_file.read_text()

    added = owner.post(ROWS, posted(rules_file, "add"))
    removed = owner.post(ROWS, posted(rules_file, "check", remove="edges-1"))

    assert added.text.count('name="edges-name"') == len(SHIPPED["edgeMapping"]) + 2
    assert [row["name"].value for row in removed.context["rows"].rows["edges"]] == ["Bant Yok", "1mm", "2mm"]
    assert rules_file.read_text() == before


def test_an_empty_section_is_left_out(make_person, rules_file) -> None:
    rules_file.write_text(text_with(prices=PRICES, company=COMPANY))
    nothing = {name: "" for name in posted(rules_file) if name.startswith(("prices.", "company.", "defaultPlateSize"))}
    rows = {"boards-price": [], "edges-price": ["", "", "", "", ""]}
    rows |= {"edges-name": [*SHIPPED["edgeMapping"], ""], "edges-mm": ["", "0.4", "1", "2", ""]}

    make_person(role="owner").post(ROWS, posted(rules_file, **nothing, **rows))

    left = {name: value for name, value in SHIPPED.items() if name != "defaultPlateSize"}
    assert json.loads(rules_file.read_text()) == left


def test_an_operator_proposes_and_a_viewer_is_refused(make_person, rules_file) -> None:
    before = rules_file.read_text()
    operator = make_person(role="operator")

    operator.post(ROWS, posted(rules_file, "propose", cutBy="hand"))
    refused = operator.post(ROWS, posted(rules_file, cutBy="hand"))

    assert read_rules(RulesProposal.objects.get().content.encode()).cut_by == "hand"
    assert refused.status_code == 403
    assert make_person("veli", role="viewer").get(ROWS).status_code == 403
    assert rules_file.read_text() == before


def test_rules_that_changed_meanwhile_are_not_overwritten_unseen(make_person, rules_file) -> None:
    stale = posted(rules_file, **{"defaultPlateSize.width_mm": "1830"})
    rules_file.write_text(text_with(retry_count_max=1))

    answer = make_person(role="owner").post(ROWS, stale)

    assert "Not saved: the rules were changed meanwhile" in answer.text
    assert [change.path for change in answer.context["changes"]] == ["defaultPlateSize.width_mm"]
    assert json.loads(rules_file.read_text()) == {**SHIPPED, "retry_count_max": 1}


def test_an_invalid_file_is_left_to_the_text(make_person, rules_file) -> None:
    rules_file.write_text("{")

    assert make_person(role="owner").get(ROWS).url == PAGE


def test_stock_time_limits_and_grain_are_changed_in_fields(make_person, rules_file) -> None:
    owner = make_person(role="owner")
    changes = {
        "stock.isKept": "1",
        "stock.leastOffcutLengthMm": "450,5",
        "timeouts.optiXmlMinutes": "30",
        "grainMapping.2": "",
        "grainMapping.3": "1",
    }

    owner.post(ROWS, posted(rules_file, **changes))

    expected = {
        "stock": {"leastOffcutLengthMm": 450.5},
        "timeouts": {"optiXmlMinutes": 30, "osiAckMinutes": 5},
        "grainMapping": {"0": 0, "1": 1, "3": 1},
    }
    assert json.loads(rules_file.read_text()) == {**SHIPPED, **expected}
    owner.post(ROWS, posted(rules_file, **{"stock.isKept": "", "stock.leastOffcutLengthMm": ""}))
    assert "stock" not in json.loads(rules_file.read_text())


@pytest.mark.parametrize(
    ("changes", "place", "fault"),
    [
        ({"timeouts.osiAckMinutes": ""}, "timeouts.osiAckMinutes", "Fill this in."),
        ({"timeouts.osiAckMinutes": "0"}, "timeouts.osiAckMinutes", "Expected minutes above 0, up to 1,440."),
        ({"stock.leastOffcutWidthMm": "x", "stock.isKept": "1"}, "stock.leastOffcutWidthMm", "Not a number."),
        ({"stock.leastOffcutWidthMm": "200"}, "stock.leastOffcutWidthMm", "Without a stock this has no effect"),
        ({f"grainMapping.{n}": "" for n in range(4)}, "grainMapping.0", "Fill this in."),
        ({"grainMapping.1": "9"}, "grainMapping.1", "Expected a whole number from 0 to 3."),
    ],
)
def test_a_fault_of_stock_time_limits_or_grain_is_beside_its_field(rules_file, changes, place, fault) -> None:
    rows = RulesRows.typed(QueryDict(urlencode({**posted(rules_file), **changes}, doseq=True)))

    rows.compose(rules_file.read_text())

    assert rows.fields[place].error.startswith(fault), [cell.error for cell in rows.fields.values()]
    assert not rows.faults


def test_a_stock_that_is_null_is_shown_as_none(rules_file) -> None:
    rows = RulesRows.of(text_with(stock=None))

    assert rows.fields["stock.isKept"].value == ""
    assert "stock" not in json.loads(rows.compose(rules_file.read_text()))
