"""Lists of CutList Optimizer and OpenCutList, as these programs export them."""

from decimal import Decimal

from orchestrator.sheets.sheet_order import SheetOrder
from tests.support.order_sheets import faults, origin, read, xlsx

CUTLIST_OPTIMIZER = """Length,Width,Qty,Material,Label,Enabled,Grain direction
720,560.5,2,MDF-18,left side,true,v
1160.0,600.0,1,MDF-18,top,true,h
300,200,9,MDF-18,old shelf,false,h
564,300,4,MDF-18,shelf,true,
"""
# The columns that are there until someone changes them.
HEADINGS = [
    *(
        "No.",
        "Designation",
        "Quantity",
        "Length - raw",
        "Width - raw",
        "Thickness - raw",
        "Length",
        "Width",
        "Thickness",
    ),
    *("Area - final", "Material type", "Material name", "Material description", "URL of the material"),
    *(
        "Instance names",
        "Description",
        "URL",
        "Badges",
        "Edge Length 1",
        "Edge Length 2",
        "Edge Width 1",
        "Edge Width 2",
    ),
    *("Frontside", "Backside", "Tags"),
]
SIDE = {
    "No.": "A",
    "Designation": "Side",
    "Quantity": "2",
    "Length - raw": "730 mm",
    "Width - raw": "570 mm",
    "Length": "720 mm",
    "Width": "56,05 cm",
    "Thickness": "18 mm",
    "Material name": "MDF Beyaz",
    "Edge Length 1": "Beyaz (1 mm x 22 mm)",
    "Edge Width 2": "PVC (0,4 mm x 22 mm)",
}
BACK = {
    "No.": "B",
    "Designation": "Back",
    "Quantity": "1",
    "Length": "~ 700,5 mm",
    "Width": "500 mm",
    "Thickness": "5 mm",
    "Material name": "HDF",
}
ROWS = [";".join(row.get(name, "") for name in HEADINGS) for row in (SIDE, BACK)]
OPENCUTLIST = "\n".join(["\ufeff" + ";".join(HEADINGS), *ROWS])


def read_csv(text: str, **given: object) -> SheetOrder:
    return read(text.encode(), "mutfak.csv", **given)


def test_a_list_of_cutlist_optimiser_is_in_millimetres() -> None:
    found = read_csv(CUTLIST_OPTIMIZER, thickness_mm=Decimal(18), material_code="")

    assert (found.layout, found.faults) == ("cutlist", [])
    sizes = [(part["length_cm"], part["width_cm"], part["quantity"]) for part in found.order["parts"]]
    assert sizes == [(72, Decimal("56.05"), 2), (116, 60, 1), (Decimal("56.4"), 30, 4)]
    assert [part["grain"] for part in found.order["parts"]] == [2, 1, 0]
    assert [part["desc1"] for part in found.order["parts"]] == ["left side", "top", "shelf"]
    assert {part["material_code"] for part in found.order["parts"]} == {"MDF-18"}
    assert found.cells["parts.2.length_cm"] == "A5"


def test_disabled_rows_and_the_meaning_of_the_grain_are_shown() -> None:
    found = read_csv(CUTLIST_OPTIMIZER, thickness_mm=Decimal(18))

    assert [source.cell for source in found.sources if source.field == "not read"] == ["F4"]
    assert {source.value for source in found.sources if source.field == "grain"} >= {"v → 2", "h → 1"}


def test_a_list_of_cutlist_optimiser_without_materials_takes_them_from_the_caller() -> None:
    found = read_csv("Length,Width,Qty,Label,Enabled\n720,560,2,side,true\n", thickness_mm=Decimal(18))

    (part,) = found.order["parts"]
    assert (found.faults, part["material_code"]) == ([], "MAT-01")
    assert origin(found, "material_code") == [("MAT-01", "caller")]


def test_a_list_of_opencutlist_has_finished_sizes_units_and_edges() -> None:
    found = read_csv(OPENCUTLIST, material_code="")

    side, back = found.order["parts"]
    assert (found.layout, found.faults) == ("opencutlist", [])
    assert (side["length_cm"], side["width_cm"], side["thickness_mm"]) == (72, Decimal("56.05"), 18)
    assert (side["edge_lo"], side["edge_dx"], "edge_up" in side) == ("1mm", "040", False)
    assert (side["material_code"], side["desc1"]) == ("MDF Beyaz", "Side")
    assert (back["part_type"], back["length_cm"], back["thickness_mm"]) == ("ARKALIK", Decimal("70.05"), 5)


def test_a_size_that_no_one_can_know_is_a_fault_at_its_cell() -> None:
    found = read_csv(CUTLIST_OPTIMIZER.replace("1160.0", '45 5/8""'), thickness_mm=Decimal(18))

    assert "A3" in faults(found)


def test_the_same_lists_as_workbooks_are_known_too() -> None:
    heading = ["Length", "Width", "Qty", "Label", "Enabled"]

    found = read(xlsx(heading, [720, 560, 2, "side", True], [1, 1, 1, "old", False]), thickness_mm=Decimal(18))

    assert (found.layout, len(found.order["parts"]), found.faults) == ("cutlist", 1, [])
