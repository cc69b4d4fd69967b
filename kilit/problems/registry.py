"""Problems that someone should look at, as plain data: the dashboard lists them, and alerts are sent from them.

Each queue registers functions that return its problems for a reader. None of them needs a request, and none of the
texts is HTML; they are in the language that is active. Mostly nothing is wrong: one statement, compiled once in a
process, asks about all rows that could be a problem of anyone, and only the functions that have some are called.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from django.db.models import IntegerChoices
from django.utils.formats import number_format
from django.utils.translation import gettext_lazy as _

from kilit.problems.kinds import REMAINDERS, ProblemKind
from kilit.workers.due_rows import BoundSql, DueRows, any_exists, exists_query

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser, User
    from django_stubs_ext import StrOrPromise

MOST_NAMED = 5  # places of one problem, and problems of one kind


class Severity(IntegerChoices):
    """How much harm is done while no one acts."""

    NOTICE = 1, _("Notice")  # work goes on
    WARNING = 2, _("Warning")  # some jobs wait for a person
    SERIOUS = 3, _("Error")  # jobs fail, or a part does not work
    CRITICAL = 4, _("Critical")  # jobs are not processed, or requests are rejected

    @property
    def colour(self) -> str:
        return "danger" if self >= Severity.SERIOUS else "warning" if self == Severity.WARNING else "info"


@dataclass(frozen=True)
class Place:
    """Where a problem is: a site, a host or a job."""

    name: str
    count: int | None = None
    link: str = ""
    scope: str = ""  # the id of a site, as text
    is_personal: bool = False  # the name of a customer, say: shown in the console, and never sent


@dataclass(frozen=True)
class ProblemAction:
    """The page on which the problem can be solved, or what solves it at once; only readers who may act get one."""

    label: str
    link: str
    is_done_at_once: bool = False  # by a POST to the link


@dataclass(frozen=True, kw_only=True)
class Problem:
    part: str  # the queue's name, or another part of the product
    kind: ProblemKind
    name: str = ""  # tells problems of one kind apart
    severity: Severity
    title: str
    cause: str = ""
    code: str = ""  # of the error, as the API knows it; shown small beside the cause
    advice: str = ""  # what to do about it
    is_cause_personal: bool = False  # free text of an order, say: shown in the console, and never sent
    count: int = 1
    where: Sequence[Place] = ()
    beyond: int = 0  # places that are not in `where`
    since: datetime | None = None
    link: str = ""
    action: ProblemAction | None = None
    stands_for: Sequence[str] = ()  # the keys of the problems that this line folds into one

    @property
    def key(self) -> str:
        return problem_key(self.part, self.kind, self.name)

    @property
    def further_places(self) -> Sequence[Place]:
        """Return the places that the title does not name."""
        return [place for place in self.where if place.name not in self.title]


def problem_key(part: str, kind: ProblemKind, name: str) -> str:
    """Return what identifies a problem from one look to the next."""
    return "-".join(filter(None, (part, kind, name)))


Reader = Any  # a user, or `SeesEverything`
Kept = TypeVar("Kept")
_look: ContextVar[dict[object, Any] | None] = ContextVar("look", default=None)


@contextmanager
def one_look() -> Iterator[None]:
    """Keep what `once` reads until the block ends."""
    kept = _look.get()
    token = _look.set({} if kept is None else kept)
    try:
        yield
    finally:
        _look.reset(token)


def once(key: object, read: Callable[[], Kept]) -> Kept:
    """Read what several parts of a page need once."""
    kept = _look.get()
    if kept is None:
        return read()
    if key not in kept:
        kept[key] = read()
    value: Kept = kept[key]
    return value


class ProblemSource(NamedTuple):
    find: Callable[[Reader], Iterable[Problem]]
    rows: DueRows | None = None  # without rows here it finds nothing for any reader; None if only `find` can tell
    is_sum: bool = False  # each of its jobs is in the line of another source, which names its cause


sources: list[ProblemSource] = []


class SeesEverything:
    """A reader for what runs without a user: all queues and sites, and no actions."""

    pk = None
    is_superuser = is_active = True
    is_staff = False

    def has_perm(self, permission: str) -> bool:
        return True

    def has_perms(self, permissions: Iterable[str]) -> bool:
        return True


def register_problems(*some: ProblemSource) -> None:
    sources.extend(some)


def find_problems(user: "User | AnonymousUser | SeesEverything", *, with_sums: bool = True) -> list[Problem]:
    """Return the problems that a reader may see.

    The most harmful come first, then those that the reader can solve; what remains of a kind is the last of it.
    """
    searched = tuple(source for source in sources if with_sums or not source.is_sum)
    with_rows = _exists_query(searched).run()
    with one_look():
        problems = [
            problem
            for index, source in enumerate(searched)
            if source.rows is None or str(index) in with_rows
            for problem in source.find(user)
        ]
    return sorted(problems, key=_rank)


def _rank(problem: Problem) -> tuple[object, ...]:
    is_remainder = problem.kind in REMAINDERS
    return -problem.severity, is_remainder, problem.action is None, -problem.count, problem.key


@cache
def _exists_query(searched: tuple[ProblemSource, ...]) -> BoundSql:
    """Return the query for those that have rows, by their numbers."""
    return exists_query({str(index): any_exists(source.rows) for index, source in enumerate(searched) if source.rows})


def with_number(text: "StrOrPromise", count: int, **values: str) -> str:
    """Return a sentence with a number in it, such as “7,021 conversions failed”: an `ngettext_lazy` by "count"."""
    return text % {"count": count, "number": number(count), **values}


def number(value: int) -> str:
    return number_format(value, force_grouping=True)
