"""What operators do with conversions, in bulk or one by one, on rows of the sites they operate."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.contrib.auth.models import AnonymousUser, User
from django.db.models import Case, CharField, Value, When
from django.utils.translation import gettext_noop

from kilit.bulk.operations import BatchOperation
from kilit.bulk.queues import BulkQueue
from ociqueue.filters import FILTERS
from ociqueue.models import Conversion, Site
from ociqueue.models.queryset import ConversionQuerySet
from ociqueue.states import CONVERSIONS

REPLACED = gettext_noop("replaced by a corrected copy")
ERASED = gettext_noop("erased")


class ConversionOperation(BatchOperation):
    table = CONVERSIONS
    model = Conversion
    scope = "site_id"
    out_of_reach = gettext_noop("not of a site you run")

    def within_reach(self, rows: ConversionQuerySet, user: User | AnonymousUser) -> ConversionQuerySet:
        # Sites are listed by id, so that the indexes by site are used.
        return rows.filter(site__in=list(Site.objects.run_by(user).values_list("pk", flat=True)))

    def with_skip_reason(self, rows: ConversionQuerySet) -> ConversionQuerySet:
        replaced = When(is_replaced=True, then=Value(REPLACED))
        erased = When(erased_at__isnull=False, then=Value(ERASED))
        return rows.annotate(skip_reason=Case(replaced, erased, default=Value(""), output_field=CharField()))

    def move(self, rows: ConversionQuerySet, options: Mapping[str, Any]) -> set[UUID]:
        """Call the queryset's verb of the same name; it locks rows by id, so operators wait and never deadlock."""
        moved: set[UUID] = getattr(rows.filter(status__in=self.sources), self.verb)(**options)
        return moved


class ConversionQueue(BulkQueue):
    def may_act(self, user: User | AnonymousUser) -> bool:
        return super().may_act(user) and Site.objects.run_by(user).exists()

    def scopes_seen_by(self, user: User | AnonymousUser) -> list[str] | None:
        return Site.objects.scopes_seen_by(user)

    def visible_to(self, user: User | AnonymousUser) -> ConversionQuerySet:
        return Conversion.objects.visible_to(user)


RETRY = ConversionOperation("retry", "retry_selected")
RESET = ConversionOperation("reset", "reset_to_queued")
MARK_FAILED = ConversionOperation("mark_failed", "mark_failed")
QUEUE = ConversionQueue(CONVERSIONS, Conversion, FILTERS, (RETRY, RESET, MARK_FAILED))
