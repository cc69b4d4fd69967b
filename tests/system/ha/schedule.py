"""Which rounds a seed gives: what happens in each, and when."""

import random
from dataclasses import dataclass

FAILOVER = "failover"  # the leader's PostgreSQL and Patroni are killed, and come back when the other leads
SWITCHOVER = "switchover"  # an operator asks Patroni for another leader
KINDS = (FAILOVER, SWITCHOVER)


@dataclass(frozen=True)
class Turn:
    """One round: clients work for `before` seconds, then it happens, and they work for `after` seconds more."""

    kind: str
    before: float
    after: float


def schedule(seed: int, rounds: int) -> list[Turn]:
    """Return the rounds of a seed: the same each time, and each kind at least once in any two."""
    rng = random.Random(seed)
    turns: list[Turn] = []
    while len(turns) < rounds:
        turns += [Turn(kind, rng.uniform(3.0, 9.0), rng.uniform(3.0, 6.0)) for kind in rng.sample(KINDS, len(KINDS))]
    return turns[:rounds]
