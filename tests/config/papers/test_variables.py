"""What a job's papers show: sizes in millimetres, bands as the sheets have them, each piece once."""

from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone

from config.papers.content import PaperRefused, PaperRequest, paper_request
from config.papers.plans import pieces
from orchestrator.cutting.solving import OptimiserBusy
from orchestrator.models import Job
from orchestrator.schemas.orders import Part
from tests.support.cutting_jobs import ARKALIK, GOVDE, finished, make_job
from tests.support.cutting_rules import COMPANY, PRICES

pytestmark = pytest.mark.django_db


def variables(kind: str, job: Job | None = None, **asked: Any) -> dict[str, Any]:
    found: dict[str, Any] = paper_request(job or make_job(), kind, PaperRequest.read(asked)).variables  # type: ignore[arg-type]
    return found


def sides(printed: dict[str, Any]) -> dict[str, str]:
    return {name: value for name, value in printed.items() if name.startswith("edge_")}


def test_each_piece_gets_a_label_with_its_own_bands(customer) -> None:
    made = make_job(parts=[{**GOVDE, "delik_kodu": "D-7", "desc1": "Yan dikme"}, ARKALIK])

    found = variables("labels", made, format="100x50")

    assert (found["job"], found["order_number"], found["customer"]) == (str(made.pk), "S-1001", "Ayşe Yılmaz")
    first, second, backing = found["labels"]
    assert (first["part"], first["length"], first["width"], first["thickness"]) == ("g1", "1205", "400", "18")
    assert (first["note"], first["drill_code"], first["grain"]) == ("Yan dikme", "D-7", 1)
    assert [(label["piece"], label["pieces"], label["number"]) for label in found["labels"]] == [
        (1, 2, 1),
        (2, 2, 2),
        (1, 1, 3),
    ]
    # dx was ordered as "Bant Yok", and a backing is never banded, whatever was ordered.
    assert sides(first) == sides(second) == {"edge_up": "1mm", "edge_lo": "1mm", "edge_sx": "040"}
    assert sides(backing) == {}


@pytest.mark.parametrize(("percent", "printed"), [("17.5", "17.5"), ("8.3333", "8.33")])
def test_cutting_sheet_and_offer_add_the_same_for_offcuts(customer, rules, percent: str, printed: str) -> None:
    rules(prices={**PRICES, "wastePercent": float(percent)}, company=COMPANY)
    job = make_job()

    assert variables("cutting_sheet", job)["waste_rate"] == printed
    assert percent in variables("offer", job)["introduction"]


def test_a_cutting_sheet_has_a_table_for_each_board(customer) -> None:
    silver = {**GOVDE, "id": "g2", "color": "Gümüş", "length_cm": 45.675}
    found = variables("cutting_sheet", make_job(parts=[GOVDE, silver, ARKALIK, {**GOVDE, "id": "g3"}]))

    assert [(each["name"], [part["name"] for part in each["parts"]]) for each in found["materials"]] == [
        ("MAT-01, Beyaz, 18 mm", ["g1", "g3"]),
        ("MAT-01, Gümüş, 18 mm", ["g2"]),
        ("MAT-02, Beyaz, 5 mm, arkalık", ["a1"]),
    ]
    assert {(each["board_length"], each["board_width"]) for each in found["materials"]} == {("2800", "2100")}
    assert found["materials"][1]["parts"][0]["length"] == "456.75"
    assert sides(found["materials"][0]["parts"][0]) == {"edge_up": "1mm", "edge_lo": "1mm", "edge_sx": "040"}


def test_the_pieces_of_a_range_are_those_of_the_whole() -> None:
    parts: Any = [Part.model_construct(None, id=name, quantity=count) for name, count in [("a", 3), ("b", 1), ("c", 5)]]
    whole = list(pieces(parts, range(1, 10)))

    assert [number for _, _, number in whole] == list(range(1, 10))
    assert [(part.id, piece) for part, piece, _ in whole[:5]] == [("a", 1), ("a", 2), ("a", 3), ("b", 1), ("c", 1)]
    assert [list(pieces(parts, range(first, 10))) for first in range(1, 11)] == [whole[n:] for n in range(10)]


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ({}, "A document takes 5000, not 5400. Print numbers 1 to 5000 first, then the rest."),
        ({"first": 2, "last": 5002}, "A document takes 5000, not 5001. Print numbers 2 to 5001 first, then the rest."),
        ({"first": 161, "last": 5401}, "There are numbers from 1 to 5400, not 161 to 5401."),
        ({"first": 5401}, "There are numbers from 1 to 5400, not 5401 to 5400."),
        ({"first": 9, "last": 8}, "There are numbers from 1 to 5400, not 9 to 8."),
    ],
)
def test_more_labels_than_a_document_takes_are_refused_with_the_range_that_fits(asked, reason: str) -> None:
    job = make_job(parts=[{**GOVDE, "quantity": 5400}])

    with pytest.raises(PaperRefused) as refused:
        variables("labels", job, **asked)

    assert str(refused.value) == reason
    documents = [variables("labels", job, **part)["labels"] for part in ({"last": 5000}, {"first": 5001})]
    assert [len(printed) for printed in documents] == [5000, 400]


def test_labels_of_a_long_order_are_in_the_order_of_cutting() -> None:
    """Also of more boards and pieces than a page shows."""
    parts = [{**GOVDE, "id": f"g{number}", "quantity": 2} for number in range(200, 0, -1)]
    job = solved(*parts, template=LONG, boards=2)

    labels = variables("labels", job)["labels"]

    assert [label["part"] for label in labels[:4]] == ["g1", "g1", "g2", "g2"]
    assert [(label["part"], label["piece"]) for label in labels] == [
        (f"g{number}", piece) for number in range(1, 201) for piece in (1, 2)
    ]


BOARD = """<O><Solution best="1"><Pattern boards="{boards}" length="2800" width="2100" material="MAT-01">
  <Part name="GOVDE_g2_TRIM_10.00" x="10" y="414" length="300" width="200"/>
  <Part name="GOVDE_g1_TRIM_10.00" x="10" y="10" length="1205" width="400"/>
  <Part name="GOVDE_g1_TRIM_10.00" x="1219" y="10" length="1205" width="400"/>
  <Drop x="314" y="414" length="2486" width="200"/>
</Pattern></Solution></O>"""


LONG = "<O><Solution best='1'>{}</Solution></O>".format(
    "".join(
        f'<Pattern boards="{{boards}}" length="2800" width="2100" material="MAT-01">'
        f'<Part name="GOVDE_g{number}_TRIM_10.00" x="10" y="10" length="1205" width="400"/></Pattern>'
        for number in range(1, 201)
    )
)


def solved(*parts: dict[str, Any], boards: int = 1, template: str = BOARD) -> Job:
    """Return a job whose solution has g1 twice and g2 once on each board."""
    job = make_job(parts=list(parts), order_id=f"S-{boards}")
    job.xml_sha256 = f"{boards:064}"
    content = template.format(boards=boards).encode()
    job.solution_files.get_or_create(name="solution.xml", defaults={"content": content, "sha256": job.xml_sha256})
    return job


def test_a_cutting_sheet_draws_the_boards_with_numbered_cuts() -> None:
    job = solved({**GOVDE, "quantity": 2}, {**GOVDE, "id": "g2", "length_cm": 30, "width_cm": 20, "quantity": 1})

    request = paper_request(job, "cutting_sheet", PaperRequest())

    (plan,) = request.variables["plans"]
    assert [part["name"] for part in plan["parts"]] == ["g1", "g1", "g2"]
    assert plan["offcuts"] == [{"x": "314.00", "y": "414.00", "length": "2486.00", "width": "200.00"}]
    assert [(cut["number"], cut["across"], cut["at"]) for cut in plan["cuts"]] == [
        (1, True, "10.00"),
        (2, False, "10.00"),
        (3, False, "410.00"),
        (4, False, "614.00"),
        (5, True, "1215.00"),
        (6, True, "2424.00"),
        (7, True, "310.00"),
    ]
    html = request.document.html(request.variables)
    assert "1205 × 400" in html
    assert html.count('class="mark"') == 7


def test_labels_are_in_the_order_of_cutting_if_the_solution_has_exactly_the_order() -> None:
    parts = ({**GOVDE, "id": "g2", "quantity": 2}, {**GOVDE, "quantity": 4})

    labels = variables("labels", solved(*parts, boards=2))["labels"]

    assert [(label["part"], label["piece"], label["number"]) for label in labels] == [
        ("g1", 1, 1),
        ("g1", 2, 2),
        ("g2", 1, 3),
        ("g1", 3, 4),
        ("g1", 4, 5),
        ("g2", 2, 6),
    ]
    one = variables("labels", solved(*parts, boards=2), first=4, last=4)["labels"]
    assert [(label["part"], label["piece"]) for label in one] == [("g1", 3)]
    other = variables("labels", solved(*parts, boards=3))["labels"]
    assert [label["part"] for label in other] == ["g2", "g2", "g1", "g1", "g1", "g1"]


def test_an_offer_has_the_figures_of_the_job_and_adds_up_as_they_do(rules) -> None:
    """0.964 m² of parts: 1.060 m² with 10 % for offcuts; 4.82 m of 1mm and 0.8 m of 040."""
    rules(prices=PRICES, company=COMPANY)
    request = paper_request(make_job(parts=[GOVDE]), "offer", PaperRequest())
    shown = request.document.shape(request.document.model.read(request.variables))

    assert [(line["description"], line["quantity"], line["unit"]) for line in request.variables["lines"]] == [
        ("Plaka MAT-01 18 mm", "1.06", "m²"),
        ("Kenar bandı 040", "0.8", "m"),
        ("Kenar bandı 1mm", "4.82", "m"),
    ]
    net = Decimal("477.00") + Decimal("10.00") + Decimal("60.25")
    assert (shown["net"], shown["total"]) == ("₺547,25", "₺656,70")
    assert net * Decimal("1.2") == Decimal("656.70")
    assert request.variables["seller"] == {"name": COMPANY["name"], "address": COMPANY["address"]}
    assert "%10 fire" in request.variables["introduction"]


def test_an_invoice_has_the_amounts_of_the_offer_and_the_day_of_cutting(customer, rules) -> None:
    rules(prices=PRICES, company=COMPANY)
    details = {"address": "Ulus 1, Ankara", "tax_office": "Ulus", "tax_number": "10000000146"}
    type(customer).objects.update(**details)
    job = finished(make_job(parts=[GOVDE]))

    offer, invoice = (variables(kind, job) for kind in ("offer", "invoice"))

    assert invoice["lines"] == offer["lines"]
    assert invoice["buyer"] == offer["buyer"] == {"name": "Ayşe Yılmaz", "phone": "+905551234567", **details}
    assert (invoice["number"], invoice["issued_on"]) == ("S-1001", f"{timezone.localtime(job.finished_at):%Y-%m-%d}")


@pytest.mark.parametrize(
    ("kind", "title", "sentence"),
    [
        ("invoice", "<h1>Proforma</h1>", "Mali değeri yoktur; fatura, e-Fatura veya e-Arşiv Fatura yerine geçmez."),
        ("delivery_note", "<h1>Teslim fişi</h1>", "Mali değeri yoktur; sevk irsaliyesi veya e-İrsaliye yerine geçmez."),
    ],
)
def test_papers_of_a_finished_job_say_that_they_have_no_fiscal_value(customer, rules, kind, title, sentence) -> None:
    rules(prices=PRICES, company=COMPANY)
    type(customer).objects.update(address="Ulus 1, Ankara")

    made = paper_request(finished(make_job(parts=[GOVDE])), kind, PaperRequest())

    html = made.document.html(made.variables)
    assert title in html
    assert sentence in html
    assert ">Fatura<" not in html


@pytest.mark.parametrize(("sizes", "words"), [("cut", "kesim ölçüsüdür"), ("finished", "bitmiş ölçüdür")])
def test_a_cutting_sheet_says_what_its_sizes_are(customer, rules, sizes: str, words: str) -> None:
    rules(sizesAre=sizes)

    made = paper_request(make_job(), "cutting_sheet", PaperRequest())

    assert words in made.document.html(made.variables)


def test_a_delivery_note_has_all_parts_without_prices(customer, rules) -> None:
    rules(company=COMPANY)
    note = variables("delivery_note", finished(make_job()), locale="en")

    assert note["parts"] == [
        {"name": "g1", "material": "MAT-01, Beyaz, 18 mm", "length": "1205", "width": "400", "quantity": 2, "note": ""},
        {
            "name": "a1",
            "material": "MAT-02, Beyaz, 5 mm, backing",
            "length": "1180",
            "width": "382.5",
            "quantity": 1,
            "note": "",
        },
    ]
    assert note["buyer"]["name"] == "Ayşe Yılmaz"


@pytest.mark.parametrize("kind", ["invoice", "delivery_note"])
def test_nothing_is_delivered_before_the_job_is_done(rules, kind: str) -> None:
    rules(prices=PRICES, company=COMPANY)

    with pytest.raises(PaperRefused, match="not done yet"):
        variables(kind)


@pytest.mark.processes
def test_an_offer_has_the_boards_of_a_plan_also_without_a_percentage_for_waste(rules, optimiser) -> None:
    rules(prices={**PRICES, "wastePercent": None, "perCut": 2}, company=COMPANY)

    offer = variables("offer", make_job(parts=[GOVDE]))

    assert [(line["description"], line["quantity"]) for line in offer["lines"]] == [
        ("Plaka MAT-01 18 mm", "5.88"),
        ("Kenar bandı 040", "0.8"),
        ("Kenar bandı 1mm", "4.82"),
        ("Kesim", "5"),
    ]
    assert offer["introduction"] == "Plaka miktarı, bu parçaların kesim planına göre hesaplanmıştır."


def test_an_offer_on_a_busy_machine_adds_the_percentage_or_says_that_it_is_missing(
    rules, optimiser, monkeypatch
) -> None:
    def busy(*_: object, **__: object) -> None:
        raise OptimiserBusy

    monkeypatch.setattr("config.papers.content.estimate", busy)
    rules(prices=PRICES, company=COMPANY)
    assert "%10 fire" in variables("offer", make_job(parts=[GOVDE]))["introduction"]
    rules(prices={**PRICES, "wastePercent": None}, company=COMPANY)
    with pytest.raises(PaperRefused, match="wastePercent"):
        variables("offer", make_job(parts=[GOVDE]))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"company": COMPANY}, "The rules have no prices."),
        ({"prices": PRICES}, "The rules have no company: add its name and address."),
        (
            {"prices": PRICES | {"edgePerMetre": {"040": 1}}, "company": COMPANY},
            "A price or figure is missing: The rules have no price for edgePerMetre 1mm.",
        ),
    ],
)
def test_an_offer_says_what_is_missing(rules, changes, reason: str) -> None:
    rules(**changes)

    with pytest.raises(PaperRefused) as refused:
        variables("offer")

    assert str(refused.value) == reason
