"""Tables are data, and a mistake in one is refused when it is written."""

from datetime import timedelta

import pytest

from kilit.lock.attempts import Schedule, attempt_checks
from kilit.lock.management.commands.lifecycle_docs import explanations, lifecycle_models
from kilit.lock.table import By, Lifecycle, move
from tests.apps.parcels.states import PARCELS


def test_edges_leave_out_arrows_to_the_same_state() -> None:
    assert PARCELS.edges() == {
        ("WAITING", "CARRIED"),
        ("CARRIED", "DELIVERED"),
        ("CARRIED", "WAITING"),
        ("WAITING", "LOST"),
        ("CARRIED", "LOST"),
        ("LOST", "WAITING"),
    }


def test_terminal_states_are_those_no_verb_leaves() -> None:
    assert PARCELS.terminal() == {"DELIVERED"}


def test_verbs_come_in_the_order_of_the_table() -> None:
    assert PARCELS.verbs_from("CARRIED") == ("deliver", "recover", "lose")
    assert PARCELS.verbs_from("DELIVERED") == ()


def test_a_path_is_a_shortest_one() -> None:
    assert PARCELS.paths()["WAITING"] == ()
    assert PARCELS.paths()["LOST"] == ("lose",)
    assert PARCELS.paths()["DELIVERED"] == ("claim", "deliver")


def test_the_diagram_shows_starts_arrows_and_ends() -> None:
    lines = [line.strip() for line in PARCELS.mermaid().splitlines()]

    assert lines[0] == "stateDiagram-v2"
    assert "[*] --> WAITING" in lines
    assert "CARRIED --> DELIVERED : deliver" in lines
    assert "WAITING --> WAITING : resend" in lines
    assert lines[-1] == "DELIVERED --> [*]"


@pytest.mark.parametrize(
    ("states", "initial", "moves", "sentence"),
    [
        ("AB", "A", {"go": move("A", to="C", by=By.SWEEP)}, "unknown states: C"),
        ("AB", "", {"go": move("A", to="B", by=By.SWEEP)}, "no initial state"),
        ("ABC", "A", {"go": move("A", to="B", by=By.SWEEP)}, "no arrow leads to C"),
    ],
)
def test_a_table_with_a_mistake_cannot_be_made(states: str, initial: str, moves: dict, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        Lifecycle("wrong", states=states, initial=initial, moves=moves)


@pytest.mark.parametrize("model", lifecycle_models(), ids=lambda model: model.lifecycle.queue)
def test_every_state_is_explained_where_it_is_declared(model) -> None:
    assert list(explanations(model.lifecycle)) == list(model.lifecycle.states)


def test_a_table_that_attempts_cannot_use_is_told_what_it_lacks() -> None:
    with pytest.raises(TypeError, match="parcel: attempts need the verb retry_later"):
        attempt_checks(PARCELS, Schedule((timedelta(minutes=1),)))
