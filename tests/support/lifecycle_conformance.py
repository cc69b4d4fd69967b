"""What every lifecycle must show, whatever queue it belongs to.

A real lifecycle joins by one line: `class TestConversions(LifecycleConformance): specimen = Specimen(…)`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from hypothesis import given
from hypothesis import strategies as st

from kilit.lock.guard import LifecycleModel, MoveRefused
from kilit.lock.models import Count, Event
from kilit.lock.table import Lifecycle
from tests.support.examples import few
from tests.support.guarded_columns import counters, fixed_columns, other_value

WALKS = 50


@dataclass(frozen=True)
class Specimen:
    """A model under test: how to make a row, and which columns each verb has to set beside the state."""

    model: type[Any]
    make: Callable[..., Any]
    changes: Mapping[str, Callable[[], dict[str, Any]]] = field(default_factory=dict)
    # By verb: what must have happened to a row in a state that the verb starts from.
    before: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict)

    @property
    def table(self) -> Lifecycle:
        return self.model.lifecycle

    def apply(self, row: LifecycleModel, verb: str) -> None:
        if verb in self.before and row.status in self.table.moves[verb].sources:
            self.before[verb](row)
        row.move(verb, **self.changes.get(verb, dict)())

    def row_in(self, state: str, **columns: Any) -> LifecycleModel:
        row = self.make(**columns)
        for verb in self.table.paths()[state]:
            self.apply(row, verb)
        return row

    def write_state(self, row: LifecycleModel, state: str) -> None:
        self.write(row, "status = %s", state)

    def write(self, row: LifecycleModel, changes: str, *values: Any) -> None:
        """Write past every verb, as psql would."""
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f'UPDATE "{self.model._meta.db_table}" SET {changes} WHERE id = %s', [*values, row.pk])


@pytest.mark.django_db
class LifecycleConformance:
    """Subclass it with a specimen."""

    specimen: Specimen

    def test_every_verb_moves_and_leaves_a_witness(self) -> None:
        for verb, move in self.specimen.table.moves.items():
            for source in move.sources:
                row = self.specimen.row_in(source)

                self.specimen.apply(row, verb)

                event = Event.objects.of(row).last()
                assert row.status == move.target
                assert event is not None
                assert (event.from_state, event.to_state) == (source, move.target)
                assert event.event_type == f"STATE_{move.target.upper()}"
                assert event.details["verb"] == verb

    def test_every_other_verb_is_refused_with_the_true_state(self) -> None:
        for state in self.specimen.table.states:
            row = self.specimen.row_in(state)
            for verb in set(self.specimen.table.moves) - set(self.specimen.table.verbs_from(state)):
                with pytest.raises(MoveRefused) as refusal:
                    self.specimen.apply(row, verb)

                assert (refusal.value.verb, refusal.value.state) == (verb, state)
                assert str(row) in str(refusal.value)

    def test_every_arrow_not_in_the_table_is_refused_by_the_database(self) -> None:
        table = self.specimen.table
        for source in table.states:
            row = self.specimen.row_in(source)
            for target in table.states:
                if source == target or (source, target) in table.edges():
                    continue

                with pytest.raises(IntegrityError, match=f"cannot move from {source} to {target}"):
                    self.specimen.write_state(row, target)

    def test_a_state_nobody_knows_is_refused_by_the_database(self) -> None:
        row = self.specimen.make()

        with pytest.raises(IntegrityError, match="cannot move"):
            self.specimen.write_state(row, "NOWHERE")

    def test_rows_are_born_only_where_the_table_says(self) -> None:
        for state in set(self.specimen.table.states) - set(self.specimen.table.initial):
            with pytest.raises(IntegrityError, match=f"cannot be created as {state}"), transaction.atomic():
                self.specimen.make(status=state)

    def test_what_identifies_a_row_never_changes(self) -> None:
        row, fixed = self.specimen.make(), fixed_columns(self.specimen.model)
        changes = {column: f"{column} = {other_value(self.specimen.model, column)}" for column in fixed}
        assert fixed, "name what identifies a row: lifecycle_triggers(…, fixed=[…])"

        for column in fixed:
            with pytest.raises(IntegrityError, match=f"{row.pk} cannot change its {column}\n"):
                self.specimen.write(row, changes[column])

        with pytest.raises(IntegrityError, match=f"cannot change its {', '.join(fixed)}\n"):
            self.specimen.write(row, ", ".join(changes.values()))
        self.specimen.write(row, ", ".join(f"{column} = {column}" for column in fixed))

    def test_counters_do_not_go_down_by_themselves(self) -> None:
        row = self.specimen.make()

        for column in counters(self.specimen.model):
            number = getattr(row, column)
            with pytest.raises(
                IntegrityError, match=f"{row.pk} cannot change its {column} from {number} to {number - 1}"
            ):
                self.specimen.write(row, f"{column} = {column} - 1")
            self.specimen.write(row, f"{column} = {column}")

    def test_rows_cannot_be_deleted(self) -> None:
        row = self.specimen.make()

        with pytest.raises(IntegrityError, match="cannot be deleted"), transaction.atomic():
            row.delete()

    def test_totals_equal_count(self) -> None:
        for state in self.specimen.table.states:
            self.specimen.row_in(state)
            Count.objects.fold()

        counted = {s: self.specimen.model.objects.filter(status=s).count() for s in self.specimen.table.states}
        assert Count.objects.by_state(queue=self.specimen.table.queue) == {s: n for s, n in counted.items() if n}

    @few(WALKS)
    @given(data=st.data())
    def test_any_walk_agrees_with_the_table_and_replays_from_its_events(self, data: st.DataObject) -> None:
        verbs = list(self.specimen.table.moves)
        walk = data.draw(st.lists(st.sampled_from(verbs), max_size=12), label="walk")
        row, expected = self.specimen.make(), self.specimen.table.initial[0]

        for verb in walk:
            move = self.specimen.table.moves[verb]
            try:
                self.specimen.apply(row, verb)
                assert expected in move.sources
                expected = move.target
            except MoveRefused:
                assert expected not in move.sources
            assert row.status == expected

        assert self._replayed(row) == expected

    @staticmethod
    def _replayed(row: LifecycleModel) -> str:
        state = ""
        for event in Event.objects.of(row):
            assert event.from_state == state
            state = event.to_state
        return state
