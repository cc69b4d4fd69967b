"""Erasing: the one way to change texts of the audit trail, to remove what identifies a person from them.

A transaction says that it erases (`erasing`). Triggers then allow an UPDATE of the columns with free text, and still
refuse a change of anything else: what happened, to what, when and by whom stays as it was recorded.
"""

from functools import partial

import pgtrigger

from kilit.lock.audit import transaction_setting
from kilit.lock.column_guards import IS_ERASING, REFUSE, quote
from kilit.lock.triggers import never

# Allows texts to be changed inside the block.
erasing = partial(transaction_setting, "kilit.erasing")


def only_erased(*texts: str, subject: str, hint: str) -> list[pgtrigger.Trigger]:
    kept = ", ".join(map(quote, texts))
    return [
        *never(pgtrigger.Update, subject=subject, hint=hint, unless=IS_ERASING),
        pgtrigger.Trigger(
            name="only_texts_are_erased",
            when=pgtrigger.Before,
            operation=pgtrigger.Update,
            condition=pgtrigger.Condition(
                f"to_jsonb(NEW) - ARRAY[{kept}] IS DISTINCT FROM to_jsonb(OLD) - ARRAY[{kept}]"
            ),
            func=REFUSE.format(message=quote(f"{subject} cannot be updated, except for their texts"), hint=quote(hint)),
        ),
    ]


def fixed_texts(*columns: str, subject: str) -> pgtrigger.Trigger:
    old, new = (", ".join(f"{row}.{name}" for name in columns) for row in ("OLD", "NEW"))
    return pgtrigger.Trigger(
        name="fixed_texts",
        when=pgtrigger.Before,
        operation=pgtrigger.Update,
        condition=pgtrigger.Condition(f"ROW({old}) IS DISTINCT FROM ROW({new}) AND NOT ({IS_ERASING})"),
        func=REFUSE.format(
            message=quote(f"{subject} cannot change their {' and '.join(columns)}"),
            hint=quote("Create another instead."),
        ),
    )
