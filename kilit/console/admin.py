"""The lock in the console: history is read, keys are issued and revoked."""

from contextlib import suppress
from typing import Any
from uuid import UUID

from django.contrib import admin, messages
from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.forms import ModelForm
from django.http import HttpRequest
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.admin import ModelAdmin

from kilit.access.models import ApiKey, DeniedRequest
from kilit.bulk.filters import FilterSet
from kilit.bulk.models import BulkAction
from kilit.console.bulk_admin import BulkActionAdmin
from kilit.console.formatting import number
from kilit.console.labels import label
from kilit.console.listing import CappedChangeList, CappedPaginator, LongListAdmin, ReadOnlyAdmin
from kilit.lock.models import Event, Pruning

admin.site.register(BulkAction, BulkActionAdmin)
label(BulkAction, _("bulk action"), _("bulk actions"))
label(
    ApiKey,
    _("API key"),
    _("API keys"),
    user=_("user"),
    name=_("name"),
    hint=_("hint"),
    created_at=_("created at"),
    expires_at=_("expires at"),
    used_at=_("used at"),
    revoked_at=_("revoked at"),
)


def _events_of(rows: Any, text: str) -> Any:
    with suppress(ValueError):
        return rows.filter(object_id=UUID(text))
    return rows.none()


@admin.register(Event)
class EventAdmin(LongListAdmin):
    """Every move of every job, newest first."""

    list_display = [
        "created_at",
        "queue",
        "object_id",
        "event_type",
        "from_state",
        "to_state",
        "actor",
        "message",
    ]
    filters = FilterSet(search=_events_of)
    search_help_text = _("The id of a job")
    sortable_by: list[str] = []  # offers no other order: no index gives one to millions of rows


@admin.register(DeniedRequest)
class DeniedRequestAdmin(ReadOnlyAdmin):
    """Who was refused what, newest first; read by admins, changed by nobody."""

    list_display = ["last_at", "actor", "address", "method", "path", "code", "times"]
    list_filter = ["code"]
    search_fields = ["actor", "path"]
    search_help_text = _("A person, a key's owner, or a part of an address")
    ordering = ["-id"]
    list_per_page = 50
    list_max_show_all = 0
    paginator = CappedPaginator
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER

    def get_changelist(self, request: HttpRequest, **options: Any) -> type[CappedChangeList]:
        """List without a total: a flood leaves many."""
        return CappedChangeList


@admin.register(Pruning)
class PruningAdmin(ReadOnlyAdmin):
    """What retention deleted, newest first."""

    list_display = ["created_at", "queue", "rows", "events", "states", "before", "actor", "message"]
    ordering = ["-id"]
    show_full_result_count = False


@admin.register(ApiKey)
class ApiKeyAdmin(ModelAdmin):
    """Keys of users and services; all are seen and can be revoked, so that a lost one is ended by whoever is there."""

    list_display = ["name", "user", "hint", "created_at", "expires_at", "used_at", "revoked_at"]
    list_select_related = ["user"]
    search_fields = ["name", "user__username"]
    autocomplete_fields = ["user"]
    fields = ["user", "name", "expires_at"]
    actions = ["revoke"]

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **options: Any) -> Any:
        """Issue keys for those whom the console lets this person change: a key is as good as a password."""
        if db_field.name == "user":
            words = _("No key is issued here for this user. Those of a site are issued on its own page.")
            options |= {"queryset": self._owners(request), "error_messages": {"invalid_choice": words}}
        return super().formfield_for_foreignkey(db_field, request, **options)

    def get_readonly_fields(self, request: HttpRequest, obj: ApiKey | None = None) -> list[str]:
        """A key never changes hands, and another's is not made to last longer."""
        if obj is None:
            return []
        return ["user"] if self._owners(request).filter(pk=obj.user_id).exists() else [*self.fields]

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Keys are revoked, so that what they did can still be told."""
        return False

    def save_model(self, request: HttpRequest, obj: ApiKey, form: ModelForm[ApiKey], change: bool) -> None:  # noqa: FBT001
        """Make the text of a new key, and show it this once."""
        text = None if change else obj.make_text()
        super().save_model(request, obj, form, change)
        if text:
            messages.warning(request, gettext("Copy the key now, it is never shown again: %(key)s") % {"key": text})

    @admin.action(description=_("Revoke — keys still in force"), permissions=["change"])
    def revoke(self, request: HttpRequest, queryset: QuerySet[ApiKey]) -> None:
        asked = queryset.count()
        revoked = ApiKey.objects.filter(pk__in=queryset.values("pk")).revoke()
        words = gettext("Revoked %(revoked)s of %(asked)s; the others were revoked already.")
        messages.success(request, words % {"revoked": number(revoked), "asked": number(asked)})

    def _owners(self, request: HttpRequest) -> QuerySet[User]:
        people: QuerySet[User] = self.admin_site.get_model_admin(User).get_queryset(request)
        return people
