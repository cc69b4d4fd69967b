"""The state diagram of a job: drawn from the table, complete for every queue, with a text alternative."""

from xml.etree import ElementTree as ET

import pytest
from django.template.loader import render_to_string

from kilit.console.jobs.diagram import Diagram, draw
from kilit.lock.management.commands.lifecycle_docs import lifecycle_models
from kilit.lock.models import Event
from tests.apps.parcels.states import PARCELS

TABLES = [model.lifecycle for model in lifecycle_models()]


def moved(*states: str) -> list[Event]:
    return [Event(from_state=source, to_state=target) for source, target in zip(("", *states), states, strict=False)]


def drawn(diagram: Diagram) -> ET.Element:
    page = render_to_string("admin/console/diagram.html", {"diagram": diagram})
    return ET.fromstring(page[page.index("<svg") : page.index("</svg>") + len("</svg>")])  # noqa: S314 - ours


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.queue)
def test_every_state_and_arrow_of_a_table_is_drawn_once_and_inside_the_picture(table) -> None:
    for state in table.states:
        diagram = draw(table, state, moved(table.initial[0]))

        assert [node.state for node in diagram.nodes] == list(table.states)
        assert sorted((arrow.source, arrow.target) for arrow in diagram.arrows) == sorted(table.edges())
        assert {arrow.target for arrow in diagram.onward} == {to for source, to in table.edges() if source == state}
        numbers = [
            float(part.strip(",")) for arrow in diagram.arrows for part in arrow.path.split() if part[0].isdigit()
        ]
        assert min(numbers) >= 0
        assert max(numbers) <= max(diagram.width, diagram.height)
        svg = drawn(diagram)
        assert {f"● {table.labels[state]}"} == {text for text in svg.itertext() if text.startswith("●")}


def test_it_shows_where_the_job_stands_where_it_was_and_what_leads_on() -> None:
    diagram = draw(PARCELS, "LOST", moved("WAITING", "CARRIED", "LOST"))

    assert {node.state: node.look for node in diagram.nodes} == {
        "WAITING": "been",
        "CARRIED": "been",
        "DELIVERED": "ahead",
        "LOST": "here",
    }
    looks = {(arrow.source, arrow.target): arrow.look for arrow in diagram.arrows}
    assert looks["LOST", "WAITING"] == "next"
    assert looks["WAITING", "CARRIED"] == looks["CARRIED", "LOST"] == "walked"
    assert looks["CARRIED", "DELIVERED"] == "other"


def test_the_picture_has_a_text_for_screen_readers() -> None:
    svg = drawn(draw(PARCELS, "LOST", moved("WAITING", "LOST")))

    title, description = svg[0], svg[1]
    assert svg.attrib["role"] == "img"
    assert svg.attrib["aria-labelledby"].split() == [title.attrib["id"], description.attrib["id"]]
    assert title.text == "State diagram. Current state: Failed"
    assert description.text == "Last states: Waiting → Failed. Possible next states: Waiting."


def test_an_end_says_that_nothing_leads_on() -> None:
    diagram = draw(PARCELS, "DELIVERED", moved("WAITING", "CARRIED", "DELIVERED"))

    assert diagram.description == "Last states: Waiting → In progress → Done. No further moves are possible."


def test_a_long_way_is_shortened() -> None:
    diagram = draw(PARCELS, "WAITING", moved(*["WAITING", "CARRIED"] * 300))

    assert diagram.history == ["Waiting", "In progress"] * 6


def test_a_job_whose_events_were_pruned_is_drawn_all_the_same() -> None:
    assert draw(PARCELS, "CARRIED", []).history == ["In progress"]
