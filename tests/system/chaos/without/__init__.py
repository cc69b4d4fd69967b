"""A guard taken away, to see that a run notices: settings that put this app beside the product's own."""

from typing import Any

from django.apps import AppConfig, apps
from django.db.models.signals import post_migrate

LOCK = ' FOR UPDATE OF "offline_conversion_queue" SKIP LOCKED'
PICKED = "ARRAY(SELECT picked.pk FROM picked, context)"


class WithoutClaim(AppConfig):
    """Claims of conversions that find rows without locking them, and update them later whatever their state is then.

    The trigger that refuses a second attempt of a row in PROCESSING is disabled, too.
    """

    name = "tests.system.chaos.without"
    label = "chaos_without"

    def ready(self) -> None:
        from kilit.lock import compiled_moves, fast_sql

        class LatePickAndUpdate(fast_sql.PickAndUpdate):
            def __init__(self, *args: Any, **options: Any) -> None:
                super().__init__(*args, **options)
                if LOCK in self._statement:
                    later = "ARRAY(SELECT picked.pk FROM picked, context, (SELECT pg_sleep(1)) AS later)"
                    self._statement = self._statement.replace(LOCK, "").replace(PICKED, later)

        compiled_moves.PickAndUpdate = LatePickAndUpdate  # type: ignore[attr-defined, misc]
        post_migrate.connect(allow_second_claims, sender=apps.get_app_config("ociqueue"))


def allow_second_claims(**_: Any) -> None:
    from ociqueue.models import Conversion

    (counters,) = [trigger for trigger in Conversion._meta.triggers if trigger.name == "counters"]
    counters.disable(Conversion)
