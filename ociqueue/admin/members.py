"""A site's members, on the site's page."""

from typing import Any

from django.contrib import admin
from django.db.models import F, QuerySet, Value
from django.db.models.functions import Concat
from django.http import HttpRequest
from django.utils.text import capfirst
from django.utils.translation import gettext_lazy as _
from unfold.admin import TabularInline

from ociqueue.admin.permissions import may_administer
from ociqueue.models import Site, SiteMembership
from ociqueue.models.site import KEYS_USER_PREFIX


class MembershipInline(TabularInline):
    model = SiteMembership
    autocomplete_fields = ["user"]
    extra = 0
    hide_title = True
    readonly_fields = ["person"]
    verbose_name, verbose_name_plural = _("person"), _("people")

    @admin.display(description=_("user"))
    def person(self, membership: SiteMembership) -> str:
        return membership.user.get_username()

    def get_fields(self, request: HttpRequest, obj: Site | None = None) -> list[str]:
        return ["user", "role"] if self.has_change_permission(request, obj) else ["person", "role"]

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **options: Any) -> Any:
        """Name each field for screen readers: the table header is not its label."""
        field = super().formfield_for_dbfield(db_field, request, **options)
        if field:
            inner = getattr(field.widget, "widget", field.widget)
            inner.attrs.setdefault("aria-label", capfirst(str(field.label)))
        return field

    def get_queryset(self, request: HttpRequest) -> QuerySet[SiteMembership]:
        """Hide the user who owns the site's keys: without its membership the keys do not work."""
        keys_user = Concat(Value(KEYS_USER_PREFIX), F("site__public_id"))
        return super().get_queryset(request).exclude(user__username=keys_user).select_related("user")  # type: ignore[no-any-return]

    def has_add_permission(self, request: HttpRequest, obj: Site | None = None) -> bool:
        return obj is not None and may_administer(request.user, obj)

    has_change_permission = has_delete_permission = has_add_permission
