"""The lifecycle of a problem's record."""

from django.db.models import TextChoices

from kilit.lock.table import By, Lifecycle, move


class ProblemState(TextChoices):
    OPEN = "OPEN"  # The problem exists, or was seen in the last ten minutes.
    CLOSED = "CLOSED"  # It has not been seen for ten minutes. If it comes back, that is another record.


PROBLEMS = Lifecycle(
    "problem",
    states=ProblemState,
    initial=[ProblemState.OPEN],
    moves={"close": move(ProblemState.OPEN, to=ProblemState.CLOSED, by=By.SWEEP)},
)
