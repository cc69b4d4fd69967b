"""The keys of conversions: what they are known and searched by, in a table whose rows are written once.

A move of a conversion writes an entry into every index of its table. The keys are random, so each of their entries
would be on a page of its own. Here they are written when a conversion is stored, and not again (decision 0019).

The database keeps the two tables together, whatever statement writes. The triggers of the conversions write the keys
that a statement has not written itself, follow an erasure, and delete the keys of pruned rows; nothing else may change
this table.
"""

from collections.abc import Collection, Iterable
from typing import Self

import pgtrigger
from django.db import models
from django.db.models import F, Index, Q, UniqueConstraint, Value, Window
from django.db.models.functions import RowNumber

from kilit.lock.column_guards import REFUSE, quote
from kilit.lock.fast_sql import KeyTable
from kilit.lock.folding import Fold, FoldedColumn
from kilit.lock.prefixes import prefix_index
from kilit.lock.triggers import after_statement, never
from ociqueue.models.site import Site

SITE = ("site",)
TABLE = "ociqueue_conversionkey"
CLICK_ID = "{row}.gclid || {row}.wbraid || {row}.gbraid"  # at most one is set
KEYS = KeyTable(
    TABLE,
    {
        **{name: f"{{row}}.{name}" for name in ("id", "site_id", "action", "source_key", "order_id")},
        "click_id": CLICK_ID,
        **{name: f"{{row}}.{name}" for name in ("hashed_email", "hashed_phone")},
    },
)
# The beginning of the source keys that an import makes for lines without one.
MADE_BY_IMPORT = "csv2:"
# Of these, what an erasure removes; the others never change.
ERASABLE = ("gclid", "wbraid", "gbraid", "hashed_email", "hashed_phone")

# In a statement that also inserts the conversions, this runs when both are there. Planned for each statement (EXECUTE):
# a plan that was made for an empty table would read all of it.
CHECK = """
    EXECUTE $check$
      SELECT EXISTS (
        SELECT FROM new_rows k LEFT JOIN offline_conversion_queue c ON c.id = k.id
        WHERE ROW({key}) IS DISTINCT FROM ROW({conversion})
      )
    $check$ INTO is_wrong;
    IF is_wrong THEN {refuse} END IF;
    RETURN NULL;
"""
WRITE = "INSERT INTO {table} ({columns}) SELECT {values} FROM new_rows n ON CONFLICT (id) DO NOTHING; RETURN NULL;"
ERASE = """
    UPDATE {table} SET {changes} WHERE id = NEW.id;
    RETURN NULL;
"""
FORGET = """
    EXECUTE 'DELETE FROM {table} WHERE id IN (SELECT id FROM old_rows)';
    RETURN NULL;
"""


def _guards() -> list[pgtrigger.Trigger]:
    message, hint = quote("a key is not the one of its conversion"), quote("Insert the conversion; its key follows.")
    check = CHECK.format(
        key=", ".join(f"k.{column}" for column in KEYS.columns),
        conversion=", ".join(KEYS.values_of("c").values()),
        refuse=REFUSE.format(message=message, hint=hint),
    )
    of_triggers = "pg_trigger_depth() > 0"
    subject, hint = "keys of conversions", "They follow their conversions."
    return [
        # Those that the conversions' own trigger writes need no check.
        pgtrigger.Trigger(
            name="check_keys",
            level=pgtrigger.Statement,
            when=pgtrigger.After,
            operation=pgtrigger.Insert,
            condition=pgtrigger.Condition(f"NOT {of_triggers}"),
            referencing=pgtrigger.Referencing(new="new_rows"),
            declare=[("is_wrong", "BOOLEAN")],
            func=check,
        ),
        *never(pgtrigger.Update, pgtrigger.Delete, subject=subject, hint=hint, unless=of_triggers),
        *never(pgtrigger.Truncate, subject=subject, hint=hint),
    ]


def key_triggers() -> list[pgtrigger.Trigger]:
    written = KEYS.values_of("n")
    changes = ", ".join(f"{column} = {KEYS.values_of('NEW')[column]}" for column in ("click_id", *ERASABLE[3:]))
    old, new = (", ".join(f"{row}.{name}" for name in ERASABLE) for row in ("OLD", "NEW"))
    return [
        after_statement(
            "write_keys",
            pgtrigger.Insert,
            WRITE.format(table=TABLE, columns=", ".join(written), values=", ".join(written.values())),
        ),
        pgtrigger.Trigger(
            name="erase_keys",
            when=pgtrigger.After,
            # A move names none of these columns, so that its rows are not even compared.
            operation=pgtrigger.UpdateOf(*ERASABLE),
            condition=pgtrigger.Condition(f"ROW({old}) IS DISTINCT FROM ROW({new})"),
            func=ERASE.format(table=TABLE, changes=changes),
        ),
        after_statement("forget_keys", pgtrigger.Delete, FORGET.format(table=TABLE)),
    ]


class ConversionKeyQuerySet(models.QuerySet["ConversionKey"]):
    def with_texts(self, column: str, texts: Iterable[str]) -> Self:
        """Find keys by the indexes for searching, which fold letters; the caller compares exactly."""
        return self.annotate(folded=FoldedColumn(column)).filter(folded__in=[Fold(Value(text)) for text in set(texts)])

    def newest_of_each(self, column: str, most: int) -> Self:
        """Return the keys of the newest conversions, at most so many for each text of a column."""
        newest = Window(RowNumber(), partition_by=[F(column)], order_by=F("pk").desc())
        return self.annotate(place=newest).filter(place__lte=most)

    def with_source_keys(self, names: Collection[tuple[str, str]]) -> Self:
        """Find keys by conversion name and source key; a few too many, if both have several values."""
        actions, keys = {action for action, _ in names}, {key for _, key in names}
        return self.filter(action__in=actions, source_key__in=keys)


class ConversionKey(models.Model):
    # No foreign keys in the database: the triggers check all rows of a statement at once.
    conversion = models.OneToOneField(
        "ociqueue.Conversion",
        primary_key=True,
        db_column="id",
        db_constraint=False,
        on_delete=models.DO_NOTHING,
        related_name="key",
    )
    site = models.ForeignKey(
        Site, db_constraint=False, db_index=False, on_delete=models.DO_NOTHING, related_name="conversion_keys"
    )
    action = models.CharField(max_length=100)
    source_key = models.CharField(max_length=200, null=True)  # noqa: DJ001 - unique only when given
    order_id = models.CharField(max_length=64)
    click_id = models.CharField(max_length=512)
    hashed_email = models.CharField(max_length=64)
    hashed_phone = models.CharField(max_length=64)

    objects = ConversionKeyQuerySet.as_manager()

    class Meta:
        default_permissions = ()
        triggers = _guards()
        constraints = [
            # A second delivery of the same conversion finds the first.
            UniqueConstraint(
                fields=["site", "action", "source_key"],
                condition=Q(source_key__isnull=False),
                name="one_key_per_source_key",
            ),
        ]
        indexes = [
            # Operators search by the beginning of what the shop and Google call a conversion. Each begins with the
            # site: a search at a small site passes no rows of a large one.
            # None has a condition: the planner has no statistics of expressions for those that do.
            prefix_index("key_source_key_prefix", "source_key", before=SITE),
            prefix_index("key_order_id_prefix", "order_id", before=SITE),
            prefix_index("key_click_id_prefix", "click_id", before=SITE),
            # Erasure finds a person's rows.
            Index(fields=["hashed_email"], condition=~Q(hashed_email=""), name="key_hashed_email"),
            Index(fields=["hashed_phone"], condition=~Q(hashed_phone=""), name="key_hashed_phone"),
        ]

    def __str__(self) -> str:
        return str(self.conversion_id)
