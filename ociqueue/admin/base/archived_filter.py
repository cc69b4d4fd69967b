"""Archived sites are listed only when they are asked for."""

from collections.abc import Iterator
from typing import Any

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.admin import ModelAdmin

from ociqueue.models import Site


class ArchivedFilter(admin.SimpleListFilter):
    title = gettext_lazy("archived")
    parameter_name = "archived"

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin) -> list[tuple[str, Any]]:
        return [("1", _("Archived"))]

    def choices(self, changelist: ChangeList) -> Iterator[Any]:
        for choice in super().choices(changelist):
            is_default = choice["display"] == _("All")
            yield {**choice, "display": _("In use")} if is_default else choice

    def queryset(self, request: HttpRequest, queryset: QuerySet[Site]) -> QuerySet[Site]:
        return queryset.filter(archived_at__isnull=self.value() is None)
