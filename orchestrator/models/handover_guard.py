"""The database's guard of unknown handovers: a failed job is not retried while the saw may have one of its files."""

import pgtrigger

from kilit.lock.column_guards import listed, quote, refuse_rows
from orchestrator.states import JOBS, UNDECIDED, JobState

DECIDED = tuple(move.target for move in JOBS.moves.values() if move.when == UNDECIDED)


def handover_guard() -> pgtrigger.Trigger:
    """Refuse to retry while a file is open, to close a file without a decision, and to decide without an open file."""
    failed, new = quote(JobState.FAILED), quote(JobState.NEW)
    return refuse_rows(
        "handover_is_decided",
        pgtrigger.Update,
        f"OLD.status = {failed} AND ("
        f"NEW.status = {failed} AND NOT NEW.open_deliveries @> OLD.open_deliveries"
        f" OR NEW.status = {new} AND OLD.open_deliveries <> '[]'"
        f" OR NEW.status IN ({listed(DECIDED)}) AND OLD.open_deliveries = '[]')",
        f"format('{JOBS.queue} %s cannot become %s; files that the saw may have: %s',"
        " OLD.id, NEW.status, OLD.open_deliveries)",
        hint="If there are any, ask at the saw. Then confirm that they were cut, or hand them over again.",
    )
