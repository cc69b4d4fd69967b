"""A guard taken away, to see that a run notices: settings that put this app beside the product's own."""

from typing import Any

from django.apps import AppConfig

LOCK = ' FOR UPDATE OF "offline_conversion_queue" SKIP LOCKED'
PICKED = "ARRAY(SELECT picked.pk FROM picked)"


class WithoutClaim(AppConfig):
    """Claims of conversions that find rows without locking them, and update them later whatever their state is then."""

    name = "tests.chaos.without"
    label = "chaos_without"

    def ready(self) -> None:
        from kilit.lock import bulk_sql, guard  # noqa: PLC0415 - models are known now

        class LatePickAndUpdate(bulk_sql.PickAndUpdate):
            def __init__(self, *args: Any, **options: Any) -> None:
                super().__init__(*args, **options)
                if LOCK in self._statement:
                    later = "ARRAY(SELECT picked.pk FROM picked, (SELECT pg_sleep(1)) AS later)"
                    self._statement = self._statement.replace(LOCK, "").replace(PICKED, later)

        guard.PickAndUpdate = LatePickAndUpdate  # type: ignore[attr-defined, misc]
