"""How many examples a property is tried with: few in `make quick`, more in `make test`, many in `make fuzz`."""

import os
from typing import Any

from hypothesis import HealthCheck, settings

USUAL = 15  # examples of a property that says nothing else
QUICK = 5
HUNDRED = 100  # what the PDF render worker's document demands of its properties
# Examples take as long as the database does, and each is rolled back.
# The conformance suite is one set of properties that several classes inherit.
SUPPRESSED = [HealthCheck.function_scoped_fixture, HealthCheck.differing_executors]


def register_profiles() -> None:
    """Offer `quick`, `kilit` (the default) and `fuzz` to `--hypothesis-profile`."""
    settings.register_profile("kilit", deadline=None, max_examples=USUAL, suppress_health_check=SUPPRESSED)
    usual = settings.get_profile("kilit")
    settings.register_profile("quick", usual, max_examples=QUICK)
    settings.register_profile("fuzz", usual, max_examples=int(os.environ.get("EXAMPLES", "500")))
    settings.load_profile("kilit")


def is_quick() -> bool:
    return bool(settings.default and settings.default.max_examples < USUAL)


def a_hundred_times() -> settings:
    """Return settings for a property of the PDF render worker's document: a hundred examples also in `make test`."""
    wanted = settings.default.max_examples if settings.default else USUAL
    return settings(max_examples=wanted if is_quick() else max(wanted, HUNDRED))


def few(examples: int, **options: Any) -> settings:
    """Return settings for a property with expensive examples, or with more than the usual number of them.

    `examples` is for every hundred that a cheap property gets.
    """
    wanted = settings.default.max_examples if settings.default else USUAL
    if wanted > USUAL:
        return settings(max_examples=wanted)
    return settings(max_examples=max(1, examples * wanted // 100), **options)
