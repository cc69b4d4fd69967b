"""The lifecycle of a parcel: small, with a claim, a way back, a self-arrow and two ends."""

from django.db.models import TextChoices

from kilit.lock.table import Lifecycle, move


class State(TextChoices):
    """Where a parcel is."""

    WAITING = "WAITING"
    CARRIED = "CARRIED"
    DELIVERED = "DELIVERED"
    LOST = "LOST"


PARCELS = Lifecycle(
    "parcel",
    states=State,
    initial=[State.WAITING],
    moves={
        "claim": move(State.WAITING, to=State.CARRIED),
        "deliver": move(State.CARRIED, to=State.DELIVERED),
        "recover": move(State.CARRIED, to=State.WAITING),
        "lose": move(State.WAITING, State.CARRIED, to=State.LOST),
        "resend": move(State.WAITING, State.LOST, to=State.WAITING),
    },
)
