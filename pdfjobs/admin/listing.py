"""How the list of jobs stays quick over millions of rows: exact searches, bounded filters, a capped count."""

from abc import ABC, abstractmethod
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib import admin
from django.core.paginator import Paginator
from django.db.models.functions import Now
from django.http import HttpRequest
from django.utils import timezone
from django.utils.functional import cached_property
from unfold.views import ChangeList

from pdfjobs.models.queryset import PdfJobQuerySet
from pdfjobs.states import ErrorCode, Status

MOST_COUNTED = 10_000
# Ids carry the time they were made at; clocks of web nodes differ by less than this.
CLOCKS_DIFFER_BY = timedelta(hours=1)


class CappedPaginator(Paginator[Any]):
    """Counts no further than anybody pages."""

    template_name = "admin/pdfjobs/capped_pagination.html"
    most = MOST_COUNTED

    @cached_property
    def count(self) -> int:
        """Return how many there are, or one more than the most that is counted."""
        rows: Any = self.object_list
        return int(rows.order_by()[: self.most + 1].count())

    def spoken_count(self) -> str:
        """Return how many there are, or that there are more than were counted."""
        if self.count > self.most:
            return f"more than {self.most:,} PDF jobs; narrow the filter to see the older ones"
        return f"{self.count:,} PDF job{'' if self.count == 1 else 's'}"


class CappedChangeList(ChangeList):
    """Leaves the total to the pagination, which knows where counting stopped."""

    def get_results(self, request: HttpRequest) -> None:
        """Keep the page's head from showing a number beside the title."""
        super().get_results(request)
        self.full_result_count = self.result_count


class ChoiceFilter(admin.SimpleListFilter, ABC):
    """A filter whose values are known beforehand; others are ignored."""

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        """Narrow the rows when a known value is asked for."""
        value = self.value()
        known = value in {str(choice) for choice, _ in self.lookup_choices}
        return self.narrow(queryset, str(value)) if known else queryset

    @abstractmethod
    def narrow(self, rows: PdfJobQuerySet, value: str) -> PdfJobQuerySet:
        """Return the rows with this value."""


class StatusFilter(ChoiceFilter):
    """By state."""

    title = "state"
    parameter_name = "status"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Any:
        """Offer all states."""
        return [(state, state) for state in Status.values]

    def narrow(self, rows: PdfJobQuerySet, value: str) -> PdfJobQuerySet:
        """Keep one state."""
        return rows.filter(status=value)


class TemplateFilter(ChoiceFilter):
    """By template, among those that may be rendered."""

    title = "template"
    parameter_name = "template"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Any:
        """Offer the allowlist."""
        return [(name, name) for name in settings.PDF_TEMPLATES]

    def narrow(self, rows: PdfJobQuerySet, value: str) -> PdfJobQuerySet:
        """Keep one template."""
        return rows.filter(template_name=value)


class CodeFilter(ChoiceFilter):
    """By the error of failed jobs."""

    title = "error code"
    parameter_name = "code"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Any:
        """Offer all codes."""
        return [(code, code) for code in ErrorCode.values]

    def narrow(self, rows: PdfJobQuerySet, value: str) -> PdfJobQuerySet:
        """Keep one code."""
        return rows.filter(status=Status.FAILED, error_code=value)


class SinceFilter(ChoiceFilter):
    """By when a job was asked for."""

    title = "date"
    parameter_name = "since"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Any:
        """Offer spans in hours."""
        return [("1", "Last hour"), ("24", "Last 24 hours"), ("168", "Last 7 days"), ("720", "Last 30 days")]

    def narrow(self, rows: PdfJobQuerySet, value: str) -> PdfJobQuerySet:
        """Keep the newest, found by their ids, which sort by time."""
        age = timedelta(hours=int(value))
        return rows.filter(pk__gte=first_id_at(timezone.now() - age - CLOCKS_DIFFER_BY), created_at__gte=Now() - age)


FILTERS = [StatusFilter, TemplateFilter, CodeFilter, SinceFilter]


def first_id_at(time: datetime) -> UUID:
    """Return the smallest id that could have been made at a time."""
    return UUID(int=int(time.timestamp() * 1000) << 80)


def search(rows: PdfJobQuerySet, text: str) -> PdfJobQuerySet:
    """Return rows by id, key or owner; all of it, because a part would read the whole table."""
    text = text.strip()
    with suppress(ValueError):
        return rows.filter(pk=UUID(text))
    return rows.filter(job_key=text) if len(text) == 64 else rows.filter(owner__username=text)  # noqa: PLR2004
