"""What an order must be, and when two of them are the same one."""

import json
from decimal import Decimal
from typing import Any

import pytest

from orchestrator.orders.order import canonical, order_from, payload_hash, read_order
from orchestrator.schemas.orders import InvalidOrder
from tests.support.cutting_jobs import ARKALIK, GOVDE, order_body

SPELLINGS = ["0555 123 45 67", "5551234567", "+90 (555) 123-45-67", "905551234567", "00905551234567"]


def faults_of(body: Any) -> list[str]:
    with pytest.raises(InvalidOrder) as refused:
        read_order(body, default_mode="C")
    return refused.value.lines


def faults_with(**changes: Any) -> list[str]:
    """Return the faults of an order whose one part has these changes."""
    return faults_of(order_body(parts=[{**GOVDE, **changes}]))


def hash_of(**changes: Any) -> str:
    return payload_hash(canonical(read_order(order_body(**changes), default_mode="C")))


def test_a_whole_order_is_read_to_the_field() -> None:
    order = read_order(order_body(plate_size={"width_mm": 1830, "height_mm": 3660.5}), default_mode="C")

    assert (order.order_id, order.customer_phone, order.opti_mode, order.revision) == (
        "S-1001",
        "+905551234567",
        "A",
        0,
    )
    assert (order.plate_size.width_mm, order.plate_size.height_mm) == (Decimal(1830), Decimal("3660.5"))
    assert order.parts[0].length_cm == Decimal("120.5")
    assert [part.id for part in order.parts] == ["g1", "a1"]


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_five_spellings_are_one_phone(spelling: str) -> None:
    assert read_order(order_body(customer_phone=spelling), default_mode="C").customer_phone == "+905551234567"


@pytest.mark.parametrize(
    "phone", ["", "12345", "0555 123 45", "call me", "0555 123 45 67 ext 3", "+90 555 CALL ME", 905]
)
def test_what_is_no_phone_is_refused(phone: Any) -> None:
    (fault,) = faults_of(order_body(customer_phone=phone))

    assert fault.startswith("customer_phone: ")


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"quantity": 0}, "quantity: Expected a whole number from 1 to 9,999."),
        ({"quantity": 10_000}, "quantity: Expected a whole number from 1 to 9,999."),
        ({"quantity": 1.5}, "quantity: Expected a whole number from 1 to 9,999."),
        ({"quantity": True}, "quantity: Expected a whole number from 1 to 9,999."),
        ({"quantity": "2"}, "quantity: Expected a whole number from 1 to 9,999."),
        ({"quantity": None}, "quantity: Expected a whole number from 1 to 9,999."),
        ({"quantity": Decimal("1e-400")}, "quantity: Expected a whole number from 1 to 9,999."),
        ({"color": None}, "color: This field is required."),
        ({"grain": 4}, "grain: Expected a whole number from 0 to 3."),
        ({"grain": -1}, "grain: Expected a whole number from 0 to 3."),
        ({"grain": False}, "grain: Expected a whole number from 0 to 3."),
        ({"length_cm": 0}, "length_cm: Expected a size above 0, up to 500 cm."),
        ({"length_cm": -3}, "length_cm: Expected a size above 0, up to 500 cm."),
        ({"length_cm": 500.01}, "length_cm: Expected a size above 0, up to 500 cm."),
        ({"length_cm": float("nan")}, "length_cm: Expected a size above 0, up to 500 cm."),
        ({"length_cm": float("inf")}, "length_cm: Expected a size above 0, up to 500 cm."),
        ({"length_cm": 1e-9}, "length_cm: Smaller than a hundredth of a millimetre."),
        ({"length_cm": Decimal("1." + "1" * 40)}, "length_cm: At most 28 digits."),
        ({"width_cm": [40]}, "width_cm: Expected a size above 0, up to 500 cm."),
        ({"width_cm": 10**400}, "width_cm: Expected a size above 0, up to 500 cm."),
        ({"thickness_mm": 5000.5}, "thickness_mm: Expected a size above 0, up to 5,000 mm."),
        ({"part_type": "KAPAK"}, "part_type: Expected one of GOVDE, ARKALIK."),
        ({"part_type": ["GOVDE"]}, "part_type: Expected one of GOVDE, ARKALIK."),
        ({"material_code": "   "}, "material_code: This may not be empty."),
        ({"material_code": "\u200b\u200b"}, "material_code: This may not be empty."),
        ({"material_code": "\u00ad \u2060\ufeff"}, "material_code: This may not be empty."),
        ({"material_code": "\ufe0f\u034f"}, "material_code: This may not be empty."),
        ({"material_code": 7}, "material_code: Expected a string."),
        ({"color": "x" * 101}, "color: At most 100 characters."),
        ({"color": "Be\x00yaz"}, "color: Control characters and broken Unicode are not allowed."),
        ({"color": "Beyaz\n"}, "color: Control characters and broken Unicode are not allowed."),
        ({"iidesc": "a\x9fb"}, "iidesc: Control characters and broken Unicode are not allowed."),
        ({"desc1": "\ud800"}, "desc1: Control characters and broken Unicode are not allowed."),
        ({"desc1": "a\ufffeb"}, "desc1: Control characters and broken Unicode are not allowed."),
        ({"desc1": "a\u202eb"}, "desc1: Control characters and broken Unicode are not allowed."),
        ({"edge_up": ""}, "edge_up: This may not be empty."),
        ({"delik_kodu": 5}, "delik_kodu: Expected a string."),
        ({"delik_kodu": "D5", "iidesc": "D35"}, "delik_kodu: Another name for iidesc, which is 'D35'."),
    ],
)
def test_an_error_is_reported_with_its_path(changes: dict[str, Any], fault: str) -> None:
    assert faults_with(**changes) == [f"parts.0.{fault}"]


@pytest.mark.parametrize("spelt", ["-", "7", "👩\u200d🔧", "🪵\ufe0f", "a\u200bb", "\ue000", "İ"])
def test_what_can_be_seen_is_text(spelt: str) -> None:
    assert read_order(order_body(order_id=spelt), default_mode="C").order_id == spelt


def test_all_faults_are_reported_at_once() -> None:
    faults = faults_of(
        {
            "order_id": "",
            "opti_mode": "E",
            "revision": -1,
            "plate_size": {"width_mm": 0},
            "parts": [{**GOVDE, "quantity": 0}, "part", {**GOVDE, "edge_upp": "1mm"}],
        }
    )

    assert [fault.partition(":")[0] for fault in faults] == [
        "order_id",
        "customer_phone",
        "opti_mode",
        "plate_size.width_mm",
        "plate_size.height_mm",
        "parts.0.quantity",
        "parts.1",
        "parts.2.id",
        "parts.2.edge_upp",
        "revision",
    ]


def test_an_id_is_used_once_in_a_job() -> None:
    assert faults_of(order_body(parts=[GOVDE, {**ARKALIK, "id": " g1 "}])) == [
        "parts.1.id: 'g1' is the id of an earlier part."
    ]


@pytest.mark.parametrize(
    ("parts", "fault"),
    [
        (None, "parts: This field is required."),
        ([], "parts: Expected at least 1, got 0."),
        ([GOVDE] * 5001, "parts: Expected at most 5,000, got 5,001."),
        ({"0": GOVDE}, "parts: Expected a list."),
        ("parts", "parts: Expected a list."),
    ],
)
def test_the_parts_are_a_list_of_a_bounded_length(parts: Any, fault: str) -> None:
    assert faults_of(order_body(parts=parts)) == [fault]


@pytest.mark.parametrize("body", [None, [], "order", 3])
def test_a_body_that_is_no_object_is_refused(body: Any) -> None:
    assert faults_of(body) == ["body: Expected an object."]


def test_a_name_from_outside_is_reported_safely() -> None:
    (fault,) = faults_of(order_body(**{"evil\x00" + "x" * 500: 1}))

    assert fault.startswith("evil?xxx")
    assert len(fault.partition(":")[0]) == 80


@pytest.mark.parametrize(
    "same",
    [
        {"customer_phone": "+90 (555) 123-45-67"},
        {"customer_snapshot_name": None, "plate_size": None},
        {"revision": 0},
        {"parts": [{**dict(reversed(GOVDE.items())), "iidesc": None}, ARKALIK]},
        {"parts": [{**GOVDE, "thickness_mm": 18.0, "quantity": 2.0, "width_cm": 40.00}, ARKALIK]},
        {"parts": [{**GOVDE, "color": " Beyaz "}, ARKALIK]},
    ],
)
def test_what_makes_no_difference_gives_the_same_hash(same: dict[str, Any]) -> None:
    assert hash_of(**same) == hash_of()


def test_composed_and_decomposed_letters_are_the_same_colour() -> None:
    composed, decomposed = "G\u00fcm\u00fc\u015f", "Gu\u0308mu\u0308s\u0327"

    assert hash_of(parts=[{**GOVDE, "color": composed}]) == hash_of(parts=[{**GOVDE, "color": decomposed}])


@pytest.mark.parametrize(
    "other",
    [
        {"revision": 1},
        {"order_id": "S-1002"},
        {"opti_mode": "B"},
        {"customer_phone": "0555 123 45 68"},
        {"plate_size": {"width_mm": 2100, "height_mm": 2800}},
        {"parts": [ARKALIK, GOVDE]},
        {"parts": [{**GOVDE, "edge_up": "2mm"}, ARKALIK]},
        {"parts": [{**GOVDE, "delik_kodu": "D35"}, ARKALIK]},
    ],
)
def test_what_makes_a_difference_gives_another_hash(other: dict[str, Any]) -> None:
    assert hash_of(**other) != hash_of()


def test_the_stored_form_is_json_and_leads_back_to_the_order() -> None:
    order = read_order(order_body(plate_size={"width_mm": 2100, "height_mm": 2800.0}), default_mode="C")

    stored = json.loads(json.dumps(canonical(order)))

    assert order_from(stored) == order
    assert payload_hash(canonical(order_from(stored))) == payload_hash(canonical(order))
    assert stored["plate_size"] == {"width_mm": "2100", "height_mm": "2800"}
    assert "customer_snapshot_name" not in stored
    assert "iidesc" not in stored["parts"][0]
