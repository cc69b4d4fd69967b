"""Customers' lists, read cell by cell as a person reads them."""

from datetime import datetime
from decimal import Decimal

from openpyxl.utils.datetime import MAC_EPOCH, WINDOWS_EPOCH

from tests.support.order_sheets import KITCHEN, faults, origin, part, read, read_list, xlsx


def test_a_date_of_a_workbook_that_counts_from_1904_is_named_rightly() -> None:
    rows = [["18MM"], [None, 720, 560, 1], [None, datetime(2026, 12, 3), 560, 1]]  # noqa: DTZ001 - Excel has no zones

    for epoch in (WINDOWS_EPOCH, MAC_EPOCH):
        sheet = read(xlsx(*rows, epoch=epoch))
        assert faults(sheet)["B3"].startswith("This is a date (2026-12-03), not a number")


def test_a_list_is_read_as_a_person_reads_it() -> None:
    found = read_list(*KITCHEN, customer_phone="", material_code="", color="", edge="")

    assert found.faults == []
    assert (found.layout, found.sheet) == ("list", "Liste")
    assert {name: value for name, value in found.order.items() if name != "parts"} == {
        "order_id": "mutfak-12",
        "customer_phone": "5551234567",
        "plate_size": {"width_mm": Decimal(2100), "height_mm": Decimal(2800)},
    }
    shared = {"material_code": "MAT-07", "color": "Antrasit"}
    assert found.order["parts"] == [
        {
            **shared,
            "id": "6",
            "part_type": "GOVDE",
            "length_cm": Decimal(72),
            "width_cm": Decimal("56.05"),
            "quantity": 2,
            "grain": 1,
            "thickness_mm": Decimal(18),
            "edge_up": "040",
            "edge_dx": "1mm",
            "iidesc": "D1 D2",
            "desc1": "yan",
        },
        {
            **shared,
            "id": "8",
            "part_type": "ARKALIK",
            "length_cm": Decimal("70.05"),
            "width_cm": Decimal(50),
            "quantity": 1,
            "grain": 0,
            "thickness_mm": Decimal(5),
        },
        {
            **shared,
            "id": "9",
            "part_type": "GOVDE",
            "length_cm": Decimal("56.4"),
            "width_cm": Decimal(30),
            "quantity": 4,
            "grain": 0,
            "thickness_mm": Decimal(18),
            "edge_up": "040",
            "desc1": "raf",
        },
    ]
    assert (found.cells["parts.1.length_cm"], found.cells["parts.2.edge_up"]) == ("B8", "F9")


def test_what_was_taken_from_where_is_shown() -> None:
    found = read_list(*KITCHEN, customer_phone="", material_code="", color="", edge="")

    assert origin(found, "thickness_mm") == [("18", "A1")]
    assert origin(found, "color") == [("Antrasit", "B2")]
    assert origin(found, "plate_size") == [("2100 × 2800 mm", "C2")]
    assert origin(found, "edge") == [("040", "A3")]
    assert origin(found, "order_id") == [("mutfak-12", "file name")]
    assert origin(found, "not read") == [("TOPLAM", "A10"), ("Teşekkürler", "A11")]


def test_a_thickness_merged_over_rows_counts_for_each() -> None:
    found = read_list(
        ["8MM", 700, 500, 1],
        [None, 600, 400, 1],
        [None, 500, 300, 1],
        ["18MM", 720, 560, 1, 0, "2MM"],
        merged=["A1:A3", "F4:I4"],
    )

    assert found.faults == []
    assert [(each["thickness_mm"], each["part_type"]) for each in found.order["parts"]] == [
        *[(Decimal(8), "ARKALIK")] * 3,
        (Decimal(18), "GOVDE"),
    ]
    assert found.cells["parts.2.thickness_mm"] == "A1"
    assert [part(found, 3)[f"edge_{side}"] for side in ("up", "lo", "sx", "dx")] == ["2mm"] * 4


def test_dates_formulas_and_ambiguous_numbers_are_faults_at_their_cells() -> None:
    found = read_list(
        ["18MM"],
        [None, 720, 560, 2],
        [None, datetime(2026, 12, 3), "1.205", 1],  # noqa: DTZ001 - a cell has no time zone
        [None, "=B2-36", "dört", 0],
        [None, 500, None, True],
    )

    assert {cell: message[:24] for cell, message in faults(found).items()} == {
        "B3": "This is a date (2026-12-",
        "C3": "Ambiguous: 1.205 could b",
        "B4": "This formula has no save",
        "C4": "Not a number.",
        "D4": "Expected a whole number ",
        "C5": "This cell is empty.",
        "D5": "Expected a number.",
    }
    assert [fault.field for fault in found.faults][:2] == ["parts.1.length_cm", "parts.1.width_cm"]
    assert part(found, 1)["length_cm"] == "2026-12-03"


def test_the_heading_may_say_centimetres() -> None:
    found = read_list(["18MM"], [None, "Boy (cm)", "En (cm)", "Adet"], [None, 72, "56,05", 1])

    assert found.faults == []
    assert (part(found)["length_cm"], part(found)["width_cm"]) == (Decimal(72), Decimal("56.05"))
    assert origin(found, "length_cm") == [("Boy (cm)", "B2")]


def test_sizes_may_be_followed_by_their_unit() -> None:
    found = read_list(["18MM"], [None, "720mm", "560,5 MM", 1], [None, "72 cm", 560, 1])

    assert (part(found)["length_cm"], part(found)["width_cm"]) == (Decimal(72), Decimal("56.05"))
    assert faults(found) == {"B3": "Not a number."}


def test_a_first_part_that_lacks_a_size_is_a_part_too() -> None:
    found = read_list(
        ["18MM"], ["Tel", 5551234567, None, 7], [], [None, 720, None, 2], ["raf", "x", 300, 1], [None, 1, 2, 3]
    )

    assert faults(found) == {"C4": "This cell is empty.", "B5": "Not a number."}
    assert [each["id"] for each in found.order["parts"]] == ["4", "5", "6"]


def test_rows_after_the_tenth_say_nothing_about_the_order() -> None:
    found = read_list(*[["."]] * 10, ["RENK: Ceviz"], ["5MM fitil kanalı", 720, 560, 1])

    assert part(found)["color"] == "Beyaz"
    assert origin(found, "not read") == [("RENK: Ceviz", "A11")]
    assert origin(found, "thickness_mm") == [("5", "A12")]  # of a note: shown, so that it can be corrected


def test_labels_need_no_colon() -> None:
    found = read_list(["MALZEME", "MAT-07", "RENK", "Ceviz"], ["18MM"], [None, 720, 560, 1], material_code="", color="")

    assert found.faults == []
    assert (part(found)["material_code"], part(found)["color"]) == ("MAT-07", "Ceviz")


def test_a_heading_that_contradicts_the_columns_is_a_fault() -> None:
    found = read_list(["18MM"], ["NO", "EN", "BOY", "ADET"], [3, 400, 720, 1])

    assert list(faults(found)) == ["B2", "C2"]
    assert part(found)["thickness_mm"] == 18  # column A only counts the rows
    assert origin(found, "not read") == [("", "A")]


def test_what_is_missing_is_said_once_with_where_it_could_stand() -> None:
    found = read_list(["MUTFAK"], [None, 720, 560, 2, 0, "x"], [None, 700, 500, 1], material_code="", color="", edge="")

    assert [(fault.cell, fault.field) for fault in found.faults] == [
        ("", "parts.0.material_code"),
        ("", "parts.0.color"),
        ("A2", "parts.0.thickness_mm"),
        ("F2", "parts.0.edge_up"),
    ]
    assert "RENK: Beyaz" in found.faults[1].message
    assert found.faults[1].message.endswith("So in 1 other row.")


def test_a_number_in_column_a_is_a_thickness_only_if_the_rules_have_it() -> None:
    found = read_list([18, 720, 560, 2], [2, 700, 500, 1], ["16MM", 700, 500, 1])

    assert list(faults(found)) == ["A2"]
    assert part(found, 2)["thickness_mm"] == 16


def test_a_backing_says_how_thick_it_is_and_has_no_edges() -> None:
    found = read_list(["18MM"], ["ARKALIK", 720, 560, 2], [4, 720, 560, 2, 0, "x"], ["arkalık 3", 700, 500, 1, 0, "x"])

    assert {cell: message[:22] for cell, message in faults(found).items()} == {
        "A2": "How thick is this back",
        "F3": "A part of 4 mm is a ba",
    }
    assert (part(found, 2)["part_type"], part(found, 2)["thickness_mm"]) == ("ARKALIK", 3)


def test_edges_are_named_as_the_rules_name_them() -> None:
    found = read_list(
        ["BANT: 2 mm", "18MM"],
        [None, 720, 560, 1, 0, "0.40mm", "0,4", "040", 40],
        [None, 720, 560, 1, 0, "1MM BEYAZ", "✓", True, "-"],
        [None, 720, 560, 1, 0, "0.8mm", "Bant Yok", datetime(2026, 4, 1)],  # noqa: DTZ001 - as above
        edge="",
    )

    sides = ("edge_up", "edge_lo", "edge_sx", "edge_dx")
    assert [part(found, 0).get(side) for side in sides] == ["040"] * 4
    assert [part(found, 1).get(side) for side in sides] == ["1mm", "2mm", "2mm", None]
    assert list(faults(found)) == ["F4", "H4"]
    assert faults(found)["F4"] == "The rules have no edge band of 0.8 mm. They have: Bant Yok, 040, 1mm, 2mm."


def test_rows_between_parts_may_not_say_what_the_parts_need() -> None:
    found = read_list(["18MM"], [None, 720, 560, 1], ["8MM"], [None, 700, 500, 1], ["8MM kalanlar için"])

    assert list(faults(found)) == ["A3"]
    assert [value for value, _cell in origin(found, "not read")] == ["8MM", "8MM kalanlar için"]


def test_two_different_thicknesses_above_are_not_guessed_between() -> None:
    parts = [[None, 720, 560, 1]] * 2
    found = read_list(["GÖVDE 18MM"], ["ARKALIK 5MM"], *parts, ["18MM", 700, 500, 1])

    assert [fault.cell for fault in found.faults] == ["A2"]
    assert found.faults[0].message.endswith("differently: A1, A2. So in 1 other row.")


def test_a_plate_that_cannot_be_read_is_a_fault_at_its_cell() -> None:
    found = read_list(["18MM", "Plaka: büyük"], [None, 720, 560, 1])
    twice = read_list(["18MM", "210*280", "183*366"], [None, 720, 560, 1])

    assert faults(found) == {"B1": "Expected a size such as 210*280 or 2100*2800."}
    assert list(faults(twice)) == ["C1"]
    assert "plate_size" not in found.order | twice.order


def test_three_sizes_are_a_plate_and_its_thickness() -> None:
    found = read_list(["18*183*366"], [None, 720, 560, 1])

    assert found.faults == []
    assert found.order["plate_size"] == {"width_mm": 1830, "height_mm": 3660}
    assert part(found)["thickness_mm"] == 18


def test_the_caller_may_not_contradict_the_sheet() -> None:
    found = read_list(["18MM", "Sipariş no: S-7"], [None, 720, 560, 1], order_id="S-8")

    assert faults(found) == {"B1": "The sheet says S-7, the request S-8."}
