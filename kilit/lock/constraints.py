"""Check constraints, each named after what it guarantees."""

from django.db.models import CheckConstraint, Q


def checks(**conditions: Q) -> list[CheckConstraint]:
    return [CheckConstraint(condition=condition, name=name) for name, condition in conditions.items()]
