"""Problems that are rows: each of a few gets a line of its own, and many share one."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from django.db.models import QuerySet

from kilit.problems.kinds import ProblemKind
from kilit.problems.registry import (
    MOST_NAMED,
    Place,
    Problem,
    ProblemAction,
    ProblemSource,
    Reader,
    SeesEverything,
    Severity,
    problem_key,
    with_number,
)
from kilit.workers.due_rows import DueRows

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise


@dataclass(frozen=True, kw_only=True)
class RowProblems:
    part: str
    kind: ProblemKind
    severity: Severity = Severity.SERIOUS
    rows: Callable[[Reader], QuerySet[Any]]  # those that a reader sees, in the order of the lines
    place: Callable[[Any], Place]  # where a row's problem is; it leads there
    named: str  # how titles call that place, as in %(site)s
    title: "StrOrPromise" = ""
    since: str = ""  # a column of the row
    describe: Callable[[Any], dict[str, Any]] = lambda _row: {}  # what else is said of a row
    actions: Callable[[Reader, list[Any]], Mapping[Any, ProblemAction]] = lambda _reader, _rows: {}  # by primary key
    many: "StrOrPromise"  # the title of one line for all, by "count"
    cause: "StrOrPromise"
    link: Callable[[], str]
    counted: int | None = None  # rows at most
    most: int = MOST_NAMED  # lines; what is solved by one click should have its own

    def source(self, rows: DueRows | None = None) -> ProblemSource:
        """Return it to be registered; there may be a cheaper question than whether anyone has such rows."""
        return ProblemSource(self.find, rows or (lambda: [self.rows(SeesEverything()).order_by()]))

    def find(self, reader: Reader) -> list[Problem]:
        rows = self.rows(reader)
        first = list(rows[: self.most + 1])
        actions = self.actions(reader, first) if first else {}
        lines = [self._line(row, actions.get(row.pk)) for row in first]
        return lines if len(lines) <= self.most else [self._fold(rows, lines)]

    def _line(self, row: Any, action: ProblemAction | None) -> Problem:
        place = self.place(row)
        columns: dict[str, Any] = {
            "name": str(row.pk),
            "severity": self.severity,
            "title": self.title % {self.named: place.name},
            "where": [place],
            "since": attrgetter(self.since)(row) if self.since else None,
            "link": place.link,
            "action": action,
            **self.describe(row),
        }
        return Problem(part=self.part, kind=self.kind, **columns)

    def _fold(self, rows: QuerySet[Any], lines: list[Problem]) -> Problem:
        names = [str(pk) for pk in rows.order_by().values_list("pk", flat=True)[: self.counted]]
        count = len(names)
        return Problem(
            part=self.part,
            kind=self.kind,
            severity=self.severity,
            title=with_number(self.many, count),
            cause=str(self.cause),
            count=count,
            where=[place for line in lines[:MOST_NAMED] for place in line.where],
            beyond=count - MOST_NAMED,
            link=self.link(),
            stands_for=[problem_key(self.part, self.kind, name) for name in names],
        )
