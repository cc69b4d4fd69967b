"""Filters of conversions, adjustments and uploads, for the console, the operator API and bulk workers."""

from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from kilit.bulk.filters import (
    CREATED_BETWEEN,
    AgeFilter,
    ChoiceFilter,
    ErrorGroupFilter,
    FilterSet,
    TextFilter,
    state_filter,
)
from kilit.bulk.item_filter import BulkFilter
from kilit.bulk.search import PrefixSearch, by
from kilit.lock.identity import first_at
from kilit.lock.prefixes import begins_with
from kilit.postgres.collation import NameOrder
from ociqueue.models import Conversion, Receipt, Site
from ociqueue.models.adjustment import FAILURES as ADJUSTMENT_FAILURES
from ociqueue.models.conversion import CLICK_ID, FAILURES, PREFIX
from ociqueue.states import ADJUSTMENTS, CONVERSIONS, AdjustmentKind, Category

UNANSWERED_WITHIN = timedelta(days=30)


def _sites_of(user: Any) -> list[tuple[str, str]]:
    return [(str(site.pk), site.name) for site in Site.objects.seen_by(user).order_by(NameOrder("name"))]


class UnansweredFilter(ChoiceFilter):
    """Without a verdict; or sent and not answered, for which there is no index, so only recent days are searched."""

    def condition(self, value: str, *, as_of: datetime | None = None) -> Q:
        if value == "verdict":
            return Q(pk__in=Receipt.objects.open().values("batch"))
        since = (as_of or timezone.now()) - UNANSWERED_WITHIN
        return Q(sent_at__isnull=False, answered_at=None, pk__gte=first_at(since))


FILTERS = FilterSet(
    (
        # Not leading: the index begins with the site.
        state_filter(CONVERSIONS, index="conversion_of_site_in_status"),
        ChoiceFilter(name="site", title=_("site"), column="site", choices=_sites_of, index="conversion_of_site"),
        TextFilter(
            name="code",
            title=_("error code"),
            column="provider_error_code",
            index="conversion_of_code",
            leads=True,
            placeholder=_("The whole code, then Enter"),
        ),
        ChoiceFilter(
            name="category",
            title=_("error category"),
            column="provider_error_category",
            index="conversion_of_category",
            leads=True,
            choices=[(category, category) for category in Category.values],
        ),
        AgeFilter(),
        *CREATED_BETWEEN,
        ErrorGroupFilter(
            failures=FAILURES, scopes_seen_by=Site.objects.scopes_seen_by, index="conversion_of_error_group"
        ),
        BulkFilter(),
    ),
    search=PrefixSearch((by("source_key"), by("order_id"), by(CLICK_ID)), scope=("site",)),
)


def of_conversion(text: str) -> Q | None:
    """Match adjustments of one conversion, by its id."""
    with suppress(ValueError):
        return Q(original=UUID(text.lower().removeprefix(PREFIX)))
    return None


def of_source_key(text: str) -> Q:
    """Match adjustments by the beginning of their conversion's source key."""
    # Sites are named, because the index begins with them.
    rows = Conversion.objects.filter(begins_with("source_key", text), source_key__isnull=False)
    return Q(original__in=rows.filter(site__in=Site.objects.values("pk")).values("pk"))


ADJUSTMENT_FILTERS = FilterSet(
    (
        state_filter(ADJUSTMENTS, index="adjustment_of_site_in_status"),
        ChoiceFilter(name="site", title=_("site"), column="site", choices=_sites_of, index="adjustment_of_site"),
        ChoiceFilter(
            name="kind",
            title=_("kind"),
            column="kind",
            choices=[(kind, kind) for kind in AdjustmentKind.values],
        ),
        TextFilter(
            name="code",
            title=_("error code"),
            column="provider_error_code",
            index="adjustment_of_code",
            leads=True,
            placeholder=_("The whole code, then Enter"),
        ),
        AgeFilter(),
        *CREATED_BETWEEN,
        ErrorGroupFilter(
            failures=ADJUSTMENT_FAILURES,
            scopes_seen_by=Site.objects.scopes_seen_by,
            index="adjustment_of_error_group",
        ),
        BulkFilter(),
    ),
    search=PrefixSearch(
        (by("order_id"), of_source_key, of_conversion, lambda text: Q(source_key=text)), scope=("site",)
    ),
)

UPLOAD_FILTERS = FilterSet(
    (
        ChoiceFilter(name="site", title=_("site"), column="site", choices=_sites_of, index="batch_of_site"),
        UnansweredFilter(
            name="answer",
            title=_("answer"),
            column="answered_at",
            choices=[("verdict", _("Waiting for the verdict")), ("none", _("No answer, last 30 days"))],
        ),
        AgeFilter(),
    )
)
