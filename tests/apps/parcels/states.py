"""The lifecycle of a parcel: small, with a claim, a way back, a verb that keeps the state, and two ends."""

from django.db.models import TextChoices

from kilit.lock.table import By, Claim, Lifecycle, move, report


class State(TextChoices):
    WAITING = "WAITING"  # It is in a depot.
    CARRIED = "CARRIED"  # A worker holds it.
    DELIVERED = "DELIVERED"  # Finished.
    LOST = "LOST"  # Failed, until an operator sends it again.


PARCELS = Lifecycle(
    "parcel",
    states=State,
    initial=[State.WAITING],
    waiting=[State.WAITING],
    held=[State.CARRIED],
    done=[State.DELIVERED],
    failed=[State.LOST],
    known_by="number",
    moves={
        "claim": move(State.WAITING, to=State.CARRIED, by=By.HOLDER, claim=Claim.TAKES, counts=True),
        "deliver": report(State.CARRIED, to=State.DELIVERED),
        "recover": move(State.CARRIED, to=State.WAITING, by=By.SWEEP),
        "lose": move(State.WAITING, State.CARRIED, to=State.LOST, by={By.OPERATOR, By.SWEEP}),
        "resend": move(State.WAITING, State.LOST, to=State.WAITING, by=By.OPERATOR),
    },
)
