"""Whose job is claimed next: owners take turns, so that one with a thousand jobs does not delay another's invoice.

First comes the owner with the fewest running jobs, then the one that this worker has served least recently, then the
one whose job has waited longest. An owner's own jobs are claimed by waiting time and priority. The order among owners
is a preference and costs no lock; the limit of an owner's running jobs is a guard: with it, claims wait for each other.
"""

from typing import TYPE_CHECKING, Any

from django.db.models import UUIDField
from django.db.models.expressions import RawSQL

from kilit.lock.priorities import TurnTime

if TYPE_CHECKING:
    from pdfjobs.models.queryset import PdfJobQuerySet

# An owner's jobs; the index pdf_turn_of_owner serves it.
TURN = TurnTime("queued_at", "priority")
ORDER = (TURN, "id")

# Two claims at once would both count the owner's running jobs before either is one.
TAKE_TURNS = "SELECT pg_advisory_xact_lock(hashtext('pdfjobs.claim'))"

# The index pdf_turn_of_owner gives the next owner and that owner's first job: a few pages for each owner, however many
# jobs wait. The lateral part locks a job: the first of the first owner that has one free.
NEXT = """(
    SELECT job.pk FROM (
      WITH RECURSIVE waiting AS (
        ({first} ORDER BY owner_id, turn, id LIMIT 1)
        UNION ALL
        SELECT later.* FROM waiting, LATERAL (
          {first} AND owner_id > waiting.owner_id ORDER BY owner_id, turn, id LIMIT 1
        ) AS later
      ),
      running AS (SELECT owner_id, count(*) AS jobs FROM pdfjobs_pdfjob WHERE status = 'running' GROUP BY owner_id)
      SELECT owner_id FROM waiting LEFT JOIN running USING (owner_id)
      WHERE coalesce(jobs, 0) < %s
      ORDER BY coalesce(jobs, 0), array_position(%s::bigint[], owner_id) NULLS FIRST, turn
    ) AS owner, LATERAL ({job}) AS job LIMIT 1
)"""
FIRST = """
    SELECT owner_id, timezone('UTC', queued_at) - make_interval(hours => priority) AS turn, id
    FROM pdfjobs_pdfjob WHERE status = 'queued'
"""
NO_LIMIT = 2**31 - 1


def next_in_turn(rows: "PdfJobQuerySet", *, most_running: Any, served: Any) -> RawSQL:
    """Return the id of the job of these rows that is claimed next, as an expression.

    `most_running` limits the running jobs of an owner; `served` are owners, the one served last at the end.
    """
    of_owner = rows.filter(owner_id=RawSQL("owner.owner_id", ()))
    free = of_owner.order_by(*ORDER).select_for_update(skip_locked=True, of=("self",)).values("pk")[:1]
    job, params = free.query.get_compiler(using=rows.db).as_sql()
    sql = NEXT.format(first=FIRST, job=job)
    return RawSQL(sql, (most_running, served, *params), UUIDField())  # noqa: S611 - our own SQL and Django's
