"""Guards of columns beside the state: what identifies a row, what counts, and what was settled.

The checks are in WHEN clauses, and most rows end them at the first comparison: a legal UPDATE calls no function.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import pgtrigger

from kilit.lock.table import Edge, Lifecycle

REFUSE = "RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = {message}, HINT = {hint};"
# Of a transaction that removes what identifies a person (kilit.lock.triggers).
IS_ERASING = "coalesce(current_setting('kilit.erasing', true), '') = 'on'"


@dataclass(frozen=True)
class Counters:
    """Columns that count, and never become NULL.

    `raised_by` are raised by one, at the arrows of a verb, and change in no other way. `changed_by` change only at the
    arrows of these verbs, so that an event has every value. `never_down` never decrease.
    """

    raised_by: Mapping[str, str] = field(default_factory=dict)
    changed_by: Mapping[str, Iterable[str]] = field(default_factory=dict)
    never_down: Iterable[str] = ()

    def triggers(self, table: Lifecycle) -> list[pgtrigger.Trigger]:
        wrong = self._wrong_changes(table)
        if not wrong:
            return []
        names = ", ".join(
            f"CASE WHEN {condition} THEN format('{column} from %s to %s', OLD.{column}, NEW.{column}) END"
            for column, condition in wrong.items()
        )
        return [
            refuse_rows(
                "counters",
                pgtrigger.Update,
                f"({' OR '.join(wrong.values())})",  # pgtrigger adds no brackets if it begins with one
                f"format('{table.queue} %s cannot change its %s', OLD.id, concat_ws(', ', {names}))",
                hint="It counts what has happened.",
            )
        ]

    def _wrong_changes(self, table: Lifecycle) -> dict[str, str]:
        raised = {
            column: f"(NEW.{column} <> OLD.{column}"
            f" AND NOT (NEW.{column} = OLD.{column} + 1 AND (OLD.status, NEW.status) IN ({_arrows_of(table, verb)})))"
            for column, verb in self.raised_by.items()
        }
        changed = {
            column: f"(NEW.{column} <> OLD.{column} AND (OLD.status, NEW.status) NOT IN ({_arrows_of(table, *verbs)}))"
            for column, verbs in self.changed_by.items()
        }
        return {**raised, **changed, **{column: f"NEW.{column} < OLD.{column}" for column in self.never_down}}


NO_COUNTERS = Counters()


@dataclass(frozen=True)
class Settled:
    """Columns that do not change any more once a row is in one of the states; `erasable` ones may still be emptied.

    They are emptied only by a transaction that erases a person, which records it.
    """

    states: Iterable[str]
    columns: Iterable[str]
    erasable: Iterable[str] = ()

    def triggers(self, table: Lifecycle) -> list[pgtrigger.Trigger]:
        changed = {column: f"OLD.{column} IS DISTINCT FROM NEW.{column}" for column in self.columns}
        changed |= {
            column: f"(OLD.{column} IS DISTINCT FROM NEW.{column} AND NOT (NEW.{column} = '' AND {IS_ERASING}))"
            for column in self.erasable
        }
        names = ", ".join(f"CASE WHEN {condition} THEN {quote(column)} END" for column, condition in changed.items())
        return [
            refuse_rows(
                "settled",
                pgtrigger.Update,
                f"OLD.status IN ({listed(self.states)}) AND ({' OR '.join(changed.values())})",
                f"format('{table.queue} %s is %s and cannot change its %s', OLD.id, OLD.status,"
                f" concat_ws(', ', {names}))",
                hint="It was sent like this.",
            )
        ]


def fixed_identity(table: Lifecycle, columns: tuple[str, ...]) -> pgtrigger.Trigger:
    # The recorder pairs old and new rows by id, so a changed id would be a move that is not recorded.
    changed = {column: f"OLD.{column} IS DISTINCT FROM NEW.{column}" for column in columns}
    names = ", ".join(f"CASE WHEN {condition} THEN {quote(column)} END" for column, condition in changed.items())
    return refuse_rows(
        "fixed_identity",
        pgtrigger.Update,
        " OR ".join(changed.values()),
        f"format('{table.queue} %s cannot change its %s', OLD.id, concat_ws(', ', {names}))",
        hint="This identifies the row and its history. Create another row instead.",
    )


def refuse_rows(
    name: str, operation: pgtrigger.Operation, condition: str, message: str, *, hint: str
) -> pgtrigger.Trigger:
    return pgtrigger.Trigger(
        name=name,
        when=pgtrigger.Before,
        operation=operation,
        condition=pgtrigger.Condition(condition),
        func=REFUSE.format(message=message, hint=quote(hint)),
    )


def arrows(edges: Iterable[Edge]) -> str:
    return ", ".join(f"({quote(source)}, {quote(target)})" for source, target in sorted(edges))


def listed(states: Iterable[str]) -> str:
    return ", ".join(quote(state) for state in states)


def quote(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _arrows_of(table: Lifecycle, *verbs: str) -> str:
    return arrows({edge for verb in verbs for edge in table.moves[verb].edges()})
