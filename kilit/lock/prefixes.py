"""Text that is searched by its beginning, or by the beginning of its words: the condition, and the index for it."""

from django.contrib.postgres.indexes import GinIndex, OpClass
from django.db.models import F, Index, OrderBy, Q, Value
from django.db.models.functions import Collate
from django.db.models.indexes import IndexExpression
from django.db.models.lookups import Exact, StartsWith

from kilit.lock.folding import Fold, FoldedColumn, FoldedWords


def prefix_index(name: str, expression: object, *, before: tuple[str, ...] = ()) -> Index:
    """Return an index for `begins_with`; columns before the text limit rows to a tenant."""
    # The operator class serves LIKE 'text%' under every collation of the database.
    folded = OpClass(FoldedColumn(expression), name="text_pattern_ops")
    return Index(*(F(column) for column in before), folded, name=name)


def word_index(name: str, *columns: str) -> GinIndex:
    """Return an index for the lookup `words` of these columns."""
    return GinIndex(*map(FoldedWords, columns), name=name)


class WholeText(str):
    """A text that `begins_with` compares as a whole, by the same index."""


def begins_with(expression: object, text: str) -> Q:
    lookup = Exact if isinstance(text, WholeText) else StartsWith
    # Both sides in SQL: Python and PostgreSQL disagree about the lower case of some letters.
    return Q(lookup(FoldedColumn(expression), Fold(Value(text))))


def allow_operator_classes() -> None:
    """Let indexes of expressions name an operator class, as django.contrib.postgres does.

    The app itself is not installed: it would query the types of two extensions for every new connection.
    """
    IndexExpression.register_wrappers(OrderBy, OpClass, Collate)
