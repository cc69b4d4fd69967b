"""The nightly audit, and the problem that it may find."""

from collections.abc import Iterator
from datetime import timedelta

from django.contrib.auth.models import AnonymousUser, User
from django.db.models import QuerySet
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from kilit.audit.models import Audit
from kilit.audit.run import describe, sweep
from kilit.problems.kinds import ProblemKind
from kilit.problems.registry import Problem, ProblemSource, Severity, register_problems
from kilit.workers.sweeps import Sweep, register_sweeps

PART = "installation"


def with_breaches() -> "list[QuerySet[Audit]]":
    return [Audit.objects.filter(breach_count__gt=0)]


def find(user: User | AnonymousUser) -> Iterator[Problem]:
    """Name the last audit, if something is wrong; the next one that reads the whole log and finds nothing ends it."""
    if not user.has_perm("audit.view_audit"):
        return
    clean = Audit.objects.filter(finished_at__isnull=False, is_full=True, breach_count=0).order_by("id").last()
    wrong = Audit.objects.filter(breach_count__gt=0, id__gt=clean.pk if clean else 0).order_by("id").first()
    if wrong:
        yield Problem(
            part=PART,
            kind=ProblemKind.AUDIT_FAILED,
            severity=Severity.CRITICAL,
            title=_("The history of jobs does not add up"),
            cause=describe(wrong.breaches[0]),
            advice=_(
                "Find out who changed the database by hand, or which backup was restored. Then audit the whole log."
            ),
            count=wrong.breach_count,
            since=wrong.finished_at or wrong.started_at,
            link=reverse("admin:audit_audit_change", args=[wrong.pk]),
        )


register_problems(ProblemSource(find, with_breaches))
register_sweeps(
    Sweep(
        "audit_log",
        every=timedelta(days=1),
        run=sweep,
        about=gettext_lazy("Holds the moves of the last day against the tables."),
    )
)
