"""Counts denied requests."""

from kilit.access.models import DeniedRequest


def refusals() -> int:
    """Return how often somebody was refused."""
    return sum(DeniedRequest.objects.values_list("times", flat=True))
