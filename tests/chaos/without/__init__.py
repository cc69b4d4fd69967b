"""Guards taken away, to see that a run notices: settings that put one of these apps beside the product's own."""

import time
from typing import Any

from django.apps import AppConfig
from django.db import transaction


class WithoutClaim(AppConfig):
    """Claims that read, judge and then write: no lock, no state in the WHERE."""

    name = "tests.chaos.without"
    label = "chaos_without"

    def ready(self) -> None:
        """Replace the one statement by two, with a moment in between."""
        from lifecycle.guard import LifecycleQuerySet  # noqa: PLC0415 - models are known now

        def take(
            self: Any, verb: str, fields: Any, *, limit: int, order: tuple[str, ...], changes: dict[str, Any]
        ) -> list[tuple[Any, ...]]:
            with self._witnessed(verb) as move:
                found = self.filter(status__in=move.sources).order_by(*order)[:limit]
                ids = list(found.values_list("pk", flat=True))
                time.sleep(1.0 if ids else 0.0)
                rows = self.model.objects.filter(pk__in=ids)
                super(LifecycleQuerySet, rows).update(**self._changes(move, changes))
                if not ids:
                    self._nothing_moved()
            return list(rows.order_by(*order).values_list(*(field.attname for field in fields)))

        LifecycleQuerySet._take = take  # type: ignore[method-assign]


class WithoutToken(AppConfig):
    """Holders that prove nothing: the claim's token is not in the WHERE."""

    name = "tests.chaos.without"
    label = "chaos_without"

    def ready(self) -> None:
        """Let whoever once held a document finish it, slowly enough that it may be somebody else's by then."""
        from django.db.models.functions import Now  # noqa: PLC0415

        from lifecycle.leases import no_lease  # noqa: PLC0415
        from pdfjobs.models import PdfJob  # noqa: PLC0415
        from pdfjobs.models.timing import RenderTiming  # noqa: PLC0415

        def succeed(self: Any, *, artifact_key: str, size: int, digest: str) -> Any:
            time.sleep(4.0)
            artifact = {"artifact_key": artifact_key, "artifact_size": size, "artifact_digest": digest}
            with transaction.atomic():
                PdfJob.objects.filter(pk=self.pk).move("succeed", finished_at=Now(), **artifact, **no_lease())
                RenderTiming.add_of(self.pk)
            return self

        PdfJob.succeed = succeed  # type: ignore[method-assign]
