"""Text that is searched by its beginning, in any case: the condition, and the index that serves it."""

from django.contrib.postgres.indexes import OpClass
from django.db.models import F, Index, OrderBy, Q, Value
from django.db.models.functions import Collate, Lower
from django.db.models.indexes import IndexExpression
from django.db.models.lookups import StartsWith


def prefix_index(name: str, expression: object, *, before: tuple[str, ...] = ()) -> Index:
    """Return an index for `begins_with`; columns before the text limit rows to a tenant."""
    # The operator class serves LIKE 'text%' under every collation of the database.
    lower = OpClass(Lower(expression), name="text_pattern_ops")
    return Index(*(F(column) for column in before), lower, name=name)


def begins_with(expression: object, text: str) -> Q:
    # Both sides in SQL: Python and PostgreSQL disagree about the lower case of some letters, such as İ.
    return Q(StartsWith(Lower(expression), Lower(Value(text))))


def allow_operator_classes() -> None:
    """Let indexes of expressions name an operator class, as django.contrib.postgres does.

    The app itself is not installed: it would query the types of two extensions for every new connection.
    """
    IndexExpression.register_wrappers(OrderBy, OpClass, Collate)
