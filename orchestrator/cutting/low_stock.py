"""The problem that boards run out: fewer are available than the least number of their kind."""

from collections.abc import Iterator

from django.utils.translation import gettext as _
from django.utils.translation import ngettext_lazy

from kilit.problems.kinds import ProblemKind
from kilit.problems.links import list_path, row_path
from kilit.problems.registry import MOST_NAMED, Place, Problem, Severity, number, with_number
from orchestrator.models import BoardKind
from orchestrator.planning.rules import has_stock
from orchestrator.states import JOBS

MOST_COUNTED = 1_000
TITLE = ngettext_lazy("Boards run out: %(number)s kind", "Boards run out: %(number)s kinds", "count")


def low_stock(_reader: object) -> Iterator[Problem]:
    kinds = list(BoardKind.objects.below_least().with_numbers().order_by("pk")[:MOST_COUNTED]) if has_stock() else []
    if kinds:
        first = kinds[0]
        text = _("%(available)s available, at least %(least)s are wanted")
        yield Problem(
            part=JOBS.queue,
            kind=ProblemKind.LOW_STOCK,
            severity=Severity.WARNING,
            title=with_number(TITLE, len(kinds)),
            cause=text % {"available": number(first.available), "least": number(first.least)},
            count=len(kinds),
            where=[Place(kind.words, link=row_path(kind)) for kind in kinds[:MOST_NAMED]],
            beyond=max(0, len(kinds) - MOST_NAMED),
            link=list_path(BoardKind),
        )
