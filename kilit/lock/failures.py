"""Failures that look alike are one group: the same code, and the same message but for numbers, ids and quoted parts.

The SQL function `lock_error_shape(text)`, made by the lock's migration, defines which messages look alike. One trigger
writes a row's group beside its error, so that a list finds a group by an index; another appends to the roll-up what
entered a group and what left it. Rows without an error cost little: the first trigger is skipped by its WHEN clause,
and the second looks once through the rows of a statement.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import pgtrigger
from django.db import models
from django.db.models import Q

from kilit.lock.column_guards import IS_ERASING, listed, quote
from kilit.lock.table import Kind, Lifecycle
from kilit.lock.triggers import after_statement, scope_of

GROUP_LENGTH = 16
# Counted beside the states, only as entered: how many of the rows that entered a failed state were expected to.
EXPECTED_FAILURE = "EXPECTED_FAILURE"
# The same for rows that failed and have not any more, because they were retried or replaced. Each is counted at the
# time at which it failed, so that a rate counts a row once: by how it is now.
REOPENED_FAILURE = "REOPENED_FAILURE"

NAME_GROUP = """
    {hide_quoted}NEW.error_group = CASE WHEN {without_group} THEN ''
      ELSE left(md5(NEW.{code} || chr(10) || lock_error_shape(NEW.{message})), {length}) END;
    RETURN NEW;
"""

SHORTEST_HIDDEN = 6  # what is shorter may be a part of any word
HIDE_QUOTED = """NEW.{message} =
      coalesce(replace(NEW.{message}, substring({quoted} FROM '.{{{shortest},}}'), '…'), NEW.{message});
    """

# A text from which a person's identifiers are removed stays in its group: the counts are of what happened.
KEEP_GROUP = f"""
    IF {IS_ERASING} THEN NEW.error_group = OLD.error_group; RETURN NEW; END IF;"""

# Planned for each statement (EXECUTE), as the recorder is. All messages of a group have one shape, so one is read.
RECORD = """
    IF EXISTS (SELECT FROM new_rows n WHERE {new_fails}) OR EXISTS (SELECT FROM old_rows o WHERE {old_fails}) THEN
      EXECUTE $errors$
        WITH changed AS MATERIALIZED (
          SELECT {new_fails} AS comes, {old_fails} AS leaves,
            {new_scope} AS new_scope, n.status AS new_state, n.error_group AS new_group,
            n.{code} AS new_code, n.{message} AS new_message,
            {old_scope} AS old_scope, o.status AS old_state, o.error_group AS old_group,
            o.{code} AS old_code, o.{message} AS old_message{reopened_by}
          FROM new_rows n JOIN old_rows o ON o.id = n.id
          WHERE (n.status, n.error_group, {new_scope}) IS DISTINCT FROM (o.status, o.error_group, {old_scope})
        ){count_expected}{count_reopened}
        INSERT INTO lock_errordelta
          (queue, scope, state, error_group, code, shape, change, entered, created_at)
        SELECT {queue}, scope, state, error_group, min(code), lock_error_shape(min(message)),
          sum(change), sum(entered), now()
        FROM (
          SELECT new_scope AS scope, new_state AS state, new_group AS error_group, new_code AS code,
            new_message AS message, 1 AS change,
            CASE WHEN leaves AND (new_scope, new_group) = (old_scope, old_group) THEN 0 ELSE 1 END AS entered
          FROM changed WHERE comes
          UNION ALL
          SELECT old_scope, old_state, old_group, old_code, old_message, -1, 0 FROM changed WHERE leaves
        ) AS changes GROUP BY scope, state, error_group
      $errors$;
    END IF;
    RETURN NULL;
"""

# Counted as the recorder counts moves into a state (kilit.lock.triggers), so that a rate can subtract them.
COUNT_EXPECTED = """, expected AS (
          INSERT INTO lock_countdelta (queue, scope, state, change, entered, created_at)
          SELECT {queue}, new_scope, {counted_as}, 0, count(*), now() FROM changed
          WHERE comes AND (old_state, new_state, new_code) IN ({expected}) GROUP BY new_scope
        )"""

# Without those that were expected to fail, which no rate has: the event of the failure has the state before it.
REOPENED_BY = ", o.id AS row_id, o.updated_at AS failed_at"
COUNT_REOPENED = """, reopened AS (
          INSERT INTO lock_countdelta (queue, scope, state, change, entered, created_at)
          SELECT {queue}, old_scope, {counted_as}, 0, count(*), date_trunc('hour', failed_at) FROM changed
          WHERE leaves AND old_state IN ({rated}) AND (new_state <> old_state OR NOT comes){unexpected}
          GROUP BY old_scope, date_trunc('hour', failed_at)
        )"""
WAS_UNEXPECTED = """
            AND ((SELECT from_state FROM lock_event WHERE object_id = row_id AND to_state = old_state
              AND from_state <> to_state ORDER BY id DESC LIMIT 1), old_state, old_code) NOT IN ({expected})"""

# Pruned rows leave their group.
FORGET = """
    EXECUTE $errors$
      INSERT INTO lock_errordelta (queue, scope, state, error_group, code, shape, change, entered, created_at)
      SELECT {queue}, {old_scope}, o.status, o.error_group, min(o.{code}), lock_error_shape(min(o.{message})),
        -count(*), 0, now()
      FROM old_rows o WHERE {old_fails} GROUP BY {old_scope}, o.status, o.error_group
    $errors$;
    RETURN NULL;
"""

# The newest message of a group, as a column of `states`, which has the groups. A reader of some scopes gets one only if
# it is among the newest: a group may have a million rows.
EXAMPLE = """
    (SELECT message FROM (
      SELECT n.{message} AS message, {scope} AS scope FROM {table} AS n
      WHERE n.error_group = states.error_group AND {fails} ORDER BY n.id DESC LIMIT 1000
    ) AS newest WHERE %(scopes)s::text[] IS NULL OR scope = ANY(%(scopes)s) LIMIT 1)
"""


@dataclass(frozen=True)
class Failures:
    """The columns that hold a row's error, the states that count as failed, and the column that scopes groups."""

    table: Lifecycle
    states: Sequence[str] = ()  # those of the kind FAILED, unless it says otherwise
    code: str = "error_code"
    message: str = "error_message"
    scope: str | None = None
    prunable: bool = False
    settled: str = ""  # a column that is true once a failed row needs no one any more: it leaves its group
    erasable: bool = False  # messages may quote what identifies a person
    quoted: str = ""  # SQL of {row}: a text that is replaced in its messages before they are stored, such as a click id
    # Failures that leave nothing to do: the state before, the state after, and the code. What a person ended is added.
    expected: Collection[tuple[str, str, str]] = ()
    # States that rates count as failed, if they count a row once however often it fails.
    rated: Collection[str] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "states", self.states or self.table.of_kind(Kind.FAILED))
        if initial := set(self.states) & set(self.table.initial):  # no trigger looks at inserted rows
            raise ValueError(f"{self.table.queue}: {', '.join(sorted(initial))} is an initial state, not a failure")
        moves = [(code, self.table.moves[verb]) for verb, code in self.table.by_hand.items()]
        by_hand = [(source, move.target, code) for code, move in moves for source in move.sources]
        object.__setattr__(self, "expected", (*self.expected, *by_hand))

    @property
    def condition(self) -> Q:
        """The rows that are in a group now; an index over them stays small."""
        return Q(status__in=list(map(str, self.states))) & ~Q(error_group="")

    def triggers(self) -> list[pgtrigger.Trigger]:
        columns = {
            "queue": quote(self.table.queue),
            "code": self.code,
            "message": self.message,
            "new_fails": self._fails("n"),
            "old_fails": self._fails("o"),
            "new_scope": scope_of("n", self.scope),
            "old_scope": scope_of("o", self.scope),
        }
        columns["count_expected"] = self._count_expected()
        columns |= {"count_reopened": self._count_reopened(), "reopened_by": REOPENED_BY if self.rated else ""}
        return [
            self._name_group("name_error_on_insert", pgtrigger.Insert, "NEW.{code} <> '' OR NEW.error_group <> ''"),
            self._name_group(
                "name_error",
                pgtrigger.Update,
                f"ROW({self._group_columns('NEW')}) IS DISTINCT FROM ROW({self._group_columns('OLD')})",
            ),
            after_statement("record_errors", pgtrigger.Update, RECORD.format(**columns)),
            *([after_statement("forget_errors", pgtrigger.Delete, FORGET.format(**columns))] if self.prunable else []),
        ]

    def _count_expected(self) -> str:
        arrows = ", ".join(f"({listed(arrow)})" for arrow in self.expected)
        values = {"queue": quote(self.table.queue), "counted_as": quote(EXPECTED_FAILURE), "expected": arrows}
        return COUNT_EXPECTED.format(**values) if self.expected else ""

    def _count_reopened(self) -> str:
        arrows = ", ".join(f"({listed(arrow)})" for arrow in self.expected)
        unexpected = WAS_UNEXPECTED.format(expected=arrows) if arrows else ""
        values = {"queue": quote(self.table.queue), "counted_as": quote(REOPENED_FAILURE), "unexpected": unexpected}
        return COUNT_REOPENED.format(**values, rated=listed(self.rated)) if self.rated else ""

    def index(self, name: str = "") -> models.Index:
        name = name or f"{self.table.queue}_of_error_group"
        return models.Index(fields=["error_group", "id"], condition=self.condition, name=name)

    def example(self, table: str) -> str:
        """Return SQL for `ErrorGroup.objects.largest`: the message of one row of each group."""
        return EXAMPLE.format(
            table=table, message=self.message, scope=scope_of("n", self.scope), fails=self._fails("n")
        )

    def _name_group(self, name: str, operation: pgtrigger.Operation, condition: str) -> pgtrigger.Trigger:
        settled = f" OR NEW.{self.settled}" if self.settled else ""
        columns = {"code": self.code, "message": self.message, "without_group": f"NEW.{self.code} = ''{settled}"}
        values = {"quoted": self.quoted.format(row="NEW"), "shortest": SHORTEST_HIDDEN}
        columns["hide_quoted"] = HIDE_QUOTED.format(message=self.message, **values) if self.quoted else ""
        keep_group = KEEP_GROUP if self.erasable and operation is pgtrigger.Update else ""
        return pgtrigger.Trigger(
            name=name,
            when=pgtrigger.Before,
            operation=operation,
            condition=pgtrigger.Condition(condition.format(**columns)),
            func=keep_group + NAME_GROUP.format(**columns, length=GROUP_LENGTH),
        )

    def _group_columns(self, row: str) -> str:
        columns = (self.code, self.message, "error_group", *filter(None, [self.settled]))
        return ", ".join(f"{row}.{column}" for column in columns)

    def _fails(self, row: str) -> str:
        return f"{row}.status IN ({listed(self.states)}) AND {row}.error_group <> ''"


def error_group_field() -> models.CharField[str, str]:
    """Return the column for a row's error group; only the database writes it."""
    return models.CharField(max_length=GROUP_LENGTH, blank=True, default="", db_default="", editable=False)
