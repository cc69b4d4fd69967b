"""Random orders go through hash, transformer and sheets without losing or inventing anything."""

import json
import tempfile
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any
from uuid import uuid4

from hypothesis import example, given
from hypothesis import strategies as st
from openpyxl import load_workbook

from orchestrator.folders import Folders
from orchestrator.orders.order import canonical, order_from, payload_hash, read_order
from orchestrator.planning.excel.naming import file_names
from orchestrator.planning.excel.template import SHEET
from orchestrator.planning.excel.writing import write_files
from orchestrator.planning.plan import Batch, transform
from orchestrator.planning.rules import current_rules
from orchestrator.schemas.orders import EDGES, UNSAFE_CHARS, Order, is_visible
from tests.support.examples import few
from tests.support.sheets import TEMPLATE


def words(longest: int) -> Any:
    """Return texts as people send them, and as they never would: every letter that the door lets in."""
    strip_control_chars = st.text(min_size=1, max_size=longest).map(lambda text: UNSAFE_CHARS.sub("", text).strip())
    likely = st.sampled_from(["Beyaz", "Gümüş", "Gumus", "=1+1", "../..", "CON", "_x0041_", "0018", "a/b"])
    return st.one_of(likely, strip_control_chars.filter(is_visible))


sizes = st.decimals(min_value="0.001", max_value=500, places=4).filter(lambda size: size >= Decimal("0.0005"))
edges = st.sampled_from(["Bant Yok", "040", "1mm", "2mm", None])
THICKNESSES = {"GOVDE": [18, 18.0, 3, 8], "ARKALIK": [3, 4, 5.0, 8]}


@st.composite
def parts(draw: Any) -> dict[str, Any]:
    part_type = draw(st.sampled_from(["GOVDE", "ARKALIK"]))
    return {
        "part_type": part_type,
        "material_code": draw(words(30)),
        "length_cm": float(draw(sizes)),
        "width_cm": float(draw(sizes)),
        "quantity": draw(st.integers(1, 9999)),
        "grain": draw(st.integers(0, 3)),
        "color": draw(words(40)),
        "thickness_mm": draw(st.sampled_from(THICKNESSES[part_type])),
        **{edge: draw(edges) for edge in EDGES},
        "iidesc": draw(st.none() | words(40)),
        "desc1": draw(st.none() | words(40)),
    }


@st.composite
def bodies(draw: Any) -> dict[str, Any]:
    found = draw(st.lists(parts(), min_size=1, max_size=8))
    return {
        "order_id": draw(words(40)),
        "customer_phone": draw(st.sampled_from(["0555 123 45 67", "+90 (555) 123-45-67"])),
        "customer_snapshot_name": draw(st.none() | words(40)),
        "opti_mode": draw(st.sampled_from(["A", "B", "C", None])),
        "plate_size": draw(st.none() | st.just({"width_mm": 1830, "height_mm": 3660.5})),
        "parts": [{**part, "id": f"{number}"} for number, part in enumerate(found)],
        "revision": draw(st.sampled_from([None, 0, 7])),
    }


def read(body: Any) -> Order:
    return read_order(body, default_mode="C")


def hash_of(order: Order) -> str:
    return payload_hash(canonical(order))


@given(bodies(), st.randoms())
def test_an_order_survives_storing_and_every_spelling_of_it_has_one_hash(body: dict[str, Any], dice: Any) -> None:
    order = read(body)
    stored = json.loads(json.dumps(canonical(order)))
    keys = list(body)
    dice.shuffle(keys)
    respelt = {key: body[key] for key in keys if body[key] is not None} | {"customer_phone": "905551234567"}

    assert order_from(stored) == order
    assert hash_of(order_from(stored)) == hash_of(order) == hash_of(read(respelt))
    assert canonical(order_from(stored)) == stored


@given(bodies(), st.data())
def test_a_different_order_has_a_different_hash(body: dict[str, Any], data: Any) -> None:
    other = json.loads(json.dumps(body))
    part = data.draw(st.sampled_from(other["parts"]))
    part["quantity"] = part["quantity"] % 9999 + 1

    assert hash_of(read(other)) != hash_of(read(body))


@few(40)
@given(bodies())
def test_every_cell_comes_back_as_it_went_in(body: dict[str, Any]) -> None:
    order = read(body)
    plan = transform(order, current_rules())
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        written = write_files(uuid4(), plan, Folders(place, place, place, TEMPLATE))
        assert {path.name for path in place.iterdir()} == {sheet["name"] for sheet in written}
        rows = {
            sheet["name"]: list(load_workbook(place / sheet["name"])[SHEET].iter_rows(min_row=3)) for sheet in written
        }
    cells = {
        row[5].value: [cell.value for cell in row] + [row[0].data_type] for found in rows.values() for row in found
    }

    assert len(cells) == len(order.parts) == sum(map(len, rows.values()))
    for part in order.parts:
        trim = "10.00" if part.thickness_mm == 18 else "5.00"
        material, length, width, quantity, grain, _, *rest, kind = cells[f"{part.part_type}_{part.id}_TRIM_{trim}"]
        backing = part.part_type == "ARKALIK"
        expected = [
            None if backing else {"040": 0.4, "1mm": 1, "2mm": 2}.get(getattr(part, edge) or "") for edge in EDGES
        ]
        assert (as_excel_shows(material), kind) == (part.material_code, "s")
        assert Decimal(str(length)) == (part.length_cm * 10).quantize(Decimal("0.01"), ROUND_HALF_UP)
        assert Decimal(str(width)) == (part.width_cm * 10).quantize(Decimal("0.01"), ROUND_HALF_UP)
        assert (quantity, grain) == (part.quantity, part.grain)
        assert rest[:4] == expected
        assert [text and as_excel_shows(text) for text in rest[4:]] == [part.iidesc, part.desc1]


def as_excel_shows(text: str) -> str:
    """Undo the escape that Excel undoes and openpyxl does not."""
    return text.replace("_x005F_x", "_x")


@given(st.lists(words(100), min_size=1, max_size=20, unique=True))
@example(["../../etc/passwd", "..", "/", "\\\\server\\share", "C:\\Windows", "CON", "NUL", "aux.", "con ."])
@example(["a:b|c?*<>", "x" * 100, "ş" * 100, "Ⅷ" * 100])
def test_names_are_distinct_plain_and_short_whatever_the_colours(colours: list[str]) -> None:
    job, batches = uuid4(), [Batch("ARKALIK", colour, Decimal("3.5"), ()) for colour in colours]

    names = file_names(job, batches)

    assert len({name.casefold() for name in names}) == len(colours)
    for name in names:
        assert set(name) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.")
        assert len(name) <= 200
        assert name.startswith(f"{job}_ARKALIK_")
        assert name.endswith("_3.5mm.xlsx")
