"""Filters of conversions, adjustments and uploads, for the console, the operator API and bulk workers."""

from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.contrib.auth.models import AnonymousUser, User
from django.db.models import Exists, F, OuterRef, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django_stubs_ext import StrOrPromise

from kilit.batches.filters import (
    CREATED_BETWEEN,
    AgeFilter,
    ChoiceFilter,
    ErrorGroupFilter,
    Filter,
    FilterSet,
    TextFilter,
    state_filter,
)
from kilit.batches.item_filter import BulkFilter
from kilit.batches.search import Condition, PrefixSearch, by
from kilit.lock.failures import Failures
from kilit.lock.identity import CLOCKS_DIFFER_BY, first_at
from kilit.lock.models import Event
from kilit.lock.prefixes import begins_with
from kilit.postgres.collation import NameOrder
from kilit.sites.scopes import scopes_seen_by
from ociqueue.models import ConversionKey, ImportJob, Receipt, Site
from ociqueue.models.adjustment import FAILURES as ADJUSTMENT_FAILURES
from ociqueue.models.conversion import FAILURES, PREFIX
from ociqueue.states import ADJUSTMENTS, CONVERSIONS, IMPORTS, AdjustmentKind, Category

UNANSWERED_WITHIN = timedelta(days=30)
STORED_BY = _("stored by import")


def _sites_of(user: User | AnonymousUser) -> list[tuple[str, str]]:
    sites = Site.objects.seen_by(user).active().order_by(NameOrder("name"))
    return [(str(site.pk), site.label) for site in sites.only("pk", "name", "customer_id")]


class SiteFilter(ChoiceFilter):
    """Archived sites are not offered, but their own pages link to their rows."""

    def accepts(self, value: str, user: User | AnonymousUser) -> bool:
        with suppress(ValueError):
            return Site.objects.seen_by(user).filter(pk=UUID(value)).exists()
        return False

    def describe(self, value: str, user: User | AnonymousUser) -> str:
        with suppress(ValueError):
            if site := Site.objects.seen_by(user).filter(pk=UUID(value)).first():
                return site.label
        return value


class UnansweredFilter(ChoiceFilter):
    """Without a verdict; or sent and not answered, for which there is no index, so only recent days are searched."""

    def condition(self, value: str, *, as_of: datetime | None = None) -> Q:
        if value == "verdict":
            return Q(pk__in=Receipt.objects.open().values("batch"))
        since = (as_of or timezone.now()) - UNANSWERED_WITHIN
        return Q(sent_at__isnull=False, answered_at=None, pk__gte=first_at(since))


class OutcomeFilter(ChoiceFilter):
    """Sent, and no answer came: Google may have it."""

    def condition(self, value: str, *, as_of: datetime | None = None) -> Q:
        return Q(outcome_unknown=True)


def _site_filter(index: str) -> ChoiceFilter:
    return SiteFilter(name="site", title=_("site"), column="site", choices=_sites_of, index=index)


def _code_filter(index: str) -> TextFilter:
    return TextFilter(
        name="code",
        title=_("error code"),
        column="provider_error_code",
        index=index,
        leads=True,
        placeholder=_("The whole code, then Enter"),
    )


def _group_filter(failures: Failures, index: str) -> ErrorGroupFilter:
    return ErrorGroupFilter(failures=failures, scopes_seen_by=scopes_seen_by, index=index)


@dataclass(frozen=True, kw_only=True)
class ImportFilter(Filter):
    """The rows that an import stored, as their first events say; set by the link of its page."""

    name: str = "import"
    title: StrOrPromise = STORED_BY
    column: str = "id"

    def accepts(self, value: str, user: User | AnonymousUser) -> bool:
        with suppress(ValueError):
            return ImportJob.objects.visible_to(user).filter(pk=UUID(value), started_at__isnull=False).exists()
        return False

    def condition(self, value: str, *, as_of: datetime | None = None) -> Q:
        return rows_of_import(ImportJob.objects.get(pk=UUID(value)))

    def describe(self, value: str, user: User | AnonymousUser) -> str:
        return ImportJob.objects.get(pk=UUID(value)).file_name


def rows_of_import(job: ImportJob) -> Q:
    start, end = job.started_at or job.created_at, job.updated_at
    by_id = Q(pk__range=(first_at(start - CLOCKS_DIFFER_BY), first_at(end + CLOCKS_DIFFER_BY)))
    created = Event.objects.filter(object_id=OuterRef("pk"), event_type="JOB_CREATED", message=job.reason.stored)
    return by_id & Q(Exists(created), created_at__range=(start, end)) & (Q(site=job.site_id) if job.site_id else Q())


def by_key(column: str) -> Condition:
    # A search at one site finds keys of that site by this, not of all. The sites are named, because the indexes begin
    # with them: before PostgreSQL 18, all of an index would be read otherwise.
    at_site = Q(key__site=F("site"), key__site__in=Site.objects.values("pk"))
    return lambda text: begins_with(f"key__{column}", text) & at_site


FILTERS = FilterSet(
    (
        # Not leading: the index begins with the site.
        state_filter(CONVERSIONS, index="conversion_of_site_by_status"),
        _site_filter("conversion_of_site"),
        _code_filter("conversion_of_code"),
        ChoiceFilter(
            name="category",
            title=_("error category"),
            column="provider_error_category",
            index="conversion_of_category",
            leads=True,
            choices=[(category, category) for category in Category.values],
        ),
        OutcomeFilter(
            name="outcome",
            title=_("outcome"),
            column="outcome_unknown",
            index="conversion_unknown",
            choices=[("unknown", _("Unknown"))],
        ),
        AgeFilter(),
        *CREATED_BETWEEN,
        _group_filter(FAILURES, "conversion_of_error_group"),
        BulkFilter(),
        ImportFilter(),
    ),
    search=PrefixSearch((by_key("source_key"), by_key("order_id"), by_key("click_id")), scope=("site",)),
)


def of_conversion(text: str) -> Q | None:
    with suppress(ValueError):
        return Q(original=UUID(text.lower().removeprefix(PREFIX)))
    return None


def of_source_key(text: str) -> Q:
    keys = ConversionKey.objects.filter(begins_with("source_key", text), site__in=Site.objects.values("pk"))
    return Q(original__in=keys.values("pk"))


ADJUSTMENT_FILTERS = FilterSet(
    (
        state_filter(ADJUSTMENTS, index="adjustment_of_site_by_status"),
        _site_filter("adjustment_of_site"),
        ChoiceFilter(
            name="kind",
            title=_("kind"),
            column="kind",
            choices=[(kind, kind) for kind in AdjustmentKind.values],
        ),
        _code_filter("adjustment_of_code"),
        AgeFilter(),
        *CREATED_BETWEEN,
        _group_filter(ADJUSTMENT_FAILURES, "adjustment_of_error_group"),
        BulkFilter(),
        ImportFilter(),
    ),
    search=PrefixSearch(
        (by("order_id"), of_source_key, of_conversion, lambda text: Q(source_key=text)), scope=("site",)
    ),
)

UPLOAD_FILTERS = FilterSet(
    (
        _site_filter("batch_of_site"),
        UnansweredFilter(
            name="answer",
            title=_("answer"),
            column="answered_at",
            choices=[("verdict", _("Waiting for the verdict")), ("none", _("No answer, last 30 days"))],
        ),
        AgeFilter(),
    )
)

IMPORT_FILTERS = FilterSet((state_filter(IMPORTS), _site_filter("import_of_site")))
