"""A guard taken away, to see that a run notices: settings that put this app beside the product's own."""

import time
from typing import Any

from django.apps import AppConfig


class WithoutClaim(AppConfig):
    """Claims that read, judge and then write: no lock, no state in the WHERE."""

    name = "tests.chaos.without"
    label = "chaos_without"

    def ready(self) -> None:
        """Replace the one statement by two, with a moment in between."""
        from kilit.lock.guard import LifecycleQuerySet, _columns_of  # noqa: PLC0415 - models are known now

        def take(
            self: Any, verb: str, fields: Any, *, limit: int, order: tuple[str, ...], changes: dict[str, Any], **_: Any
        ) -> list[tuple[Any, ...]]:
            with self._recorded_as(verb) as move:
                found = self.filter(status__in=move.sources).order_by(*order)[:limit]
                ids = list(found.values_list("pk", flat=True))
                time.sleep(1.0 if ids else 0.0)
                rows = self.model.objects.filter(pk__in=ids)
                super(LifecycleQuerySet, rows).update(**_columns_of(move, changes))
                if not ids:
                    self._clear_verb()
            return list(rows.order_by(*order).values_list(*(field.attname for field in fields)))

        LifecycleQuerySet._take = take  # type: ignore[method-assign]
