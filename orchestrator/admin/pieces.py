"""How far the pieces of a job are, for its page: cut, edged, drilled, packed, and which are missing."""

from itertools import islice

from django.utils.translation import gettext as _

from kilit.console.formatting import number
from orchestrator.models import Job
from orchestrator.pieces import StepProgress, progress
from orchestrator.planning.rules import valid_rules

MOST_PARTS_NAMED = 30
MOST_PIECES_NAMED = 12  # of a part


def pieces_card(job: Job) -> dict[str, object] | None:
    """Return what was done to the pieces of a job whose labels have a link."""
    rules = valid_rules() if job.piece_link else None
    if rules is None:
        return None
    steps = list(progress(job, rules))
    sentence = " · ".join(
        _("%(step)s %(number)s of %(total)s")
        % {"step": step.step.label, "number": number(step.done), "total": number(step.total)}
        for step in steps
    )
    missing = [_missing(step) for step in steps if step.missing]
    return {"sentence": sentence, "missing": missing, "is_withdrawn": job.piece_link < 0}


def _missing(step: StepProgress) -> dict[str, object]:
    return {
        "step": step.step.label,
        "count": step.missing_count,
        "parts": [(part, _numbers(done, quantity)) for part, done, quantity in step.missing[:MOST_PARTS_NAMED]],
        "beyond": max(0, len(step.missing) - MOST_PARTS_NAMED),
    }


def _numbers(done: set[int], quantity: int) -> str:
    """Return the missing pieces as labels number them: 2, 3 / 8; of thousands, only the first are looked for."""
    missing = (number for number in range(1, quantity + 1) if number not in done)
    numbers = list(islice(missing, MOST_PIECES_NAMED + 1))
    named = ", ".join(map(str, numbers[:MOST_PIECES_NAMED])) + ("…" if len(numbers) > MOST_PIECES_NAMED else "")
    return f"{named} / {quantity}"
