"""How many examples a property is tried with: few in `make test`, many in `make fuzz`."""

import os
from typing import Any

from hypothesis import settings


def few(examples: int, **options: Any) -> settings:
    """Return settings of a property whose examples are dear; `make fuzz` says how many it wants instead."""
    wanted = os.environ.get("EXAMPLES")
    return settings(max_examples=int(wanted)) if wanted else settings(max_examples=examples, **options)
