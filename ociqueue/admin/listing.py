"""How conversions and uploads are narrowed: exact searches, bounded filters."""

from contextlib import suppress
from typing import Any
from uuid import UUID

from django.db.models import Q, Value
from django.db.models.lookups import Exact
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from kilit.console.filters import AgeFilter, ChoiceFilter, DateFilter, GroupFilter, StateFilter, TypedFilter
from ociqueue.models import Site
from ociqueue.models.conversion import CLICK_ID
from ociqueue.models.queryset import ConversionQuerySet
from ociqueue.states import Category


class SiteFilter(ChoiceFilter):
    """By site, among those of the user."""

    title, parameter_name, column = _("site"), "site", "site"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Any:
        return [(str(site.pk), site.name) for site in Site.objects.seen_by(request.user)]


class CategoryFilter(ChoiceFilter):
    """By the kind of failure."""

    title, parameter_name, column = _("error category"), "category", "provider_error_category"
    leads = True
    offered = [(category, category) for category in Category.values]


class CodeFilter(TypedFilter):
    """By an error code typed in."""

    title = _("error code")
    parameters = {"code": _("error code")}
    column = "provider_error_code"
    placeholder = _("The whole code, then Enter")


FILTERS = [StateFilter, SiteFilter, CodeFilter, CategoryFilter, AgeFilter, DateFilter, GroupFilter]


def search(rows: ConversionQuerySet, text: str) -> ConversionQuerySet:
    """Return rows by id, order id, click id or source key; all of it, because a part would read the whole table."""
    text = text.strip()
    with suppress(ValueError):
        return rows.filter(pk=UUID(text))
    # Rows come narrowed to sites, so the index that keeps source keys apart serves: PostgreSQL skips over its actions.
    return rows.filter(Q(Exact(CLICK_ID, Value(text))) | Q(order_id=text) | Q(source_key=text))
