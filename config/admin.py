"""Users, roles and lockouts in the console."""

from typing import Any

from axes.models import AccessAttempt
from axes.utils import reset
from django.conf import settings
from django.contrib import admin, messages
from django.contrib.auth.admin import GroupAdmin as BaseGroupAdmin
from django.contrib.auth.admin import UserAdmin as BaseUserAdmin
from django.contrib.auth.models import Group, User
from django.core.validators import RegexValidator
from django.db.models import QuerySet, Sum
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django_q.models import Failure, OrmQ, Schedule, Success
from unfold.admin import ModelAdmin
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

from config.papers.console import papers_of_job
from kilit.access.roles import Role
from kilit.console.formatting import exactly, number
from kilit.console.listing import ReadOnlyAdmin
from kilit.postgres.collation import NameOrder
from ociqueue.models.site import KEYS_USER_PREFIX
from orchestrator.admin.papers import register_papers

SITES_USER = rf"^{KEYS_USER_PREFIX}[0-9a-f]{{32}}$"  # the prefix and a site's public id

register_papers(papers_of_job)
admin.site.unregister([User, Group])
# django-q2's pages are hidden: "resubmit" drops a task's options and deletes history, and tasks are only doorbells.
admin.site.unregister([Failure, OrmQ, Schedule, Success])


@admin.register(User)
class UserAdmin(BaseUserAdmin[User], ModelAdmin):
    """People and services; a service has no usable password, only keys.

    The technical users that hold sites' keys are hidden: a key or password added to one would give access to its site.
    A site's own page manages its keys.
    """

    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm
    list_display = ["username", "full_name", "email", "roles", "last_login", "is_active"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[User]:
        # Only superusers may edit superusers: changing one's password is becoming one.
        people: QuerySet[User] = super().get_queryset(request).exclude(username__regex=SITES_USER)
        people = people.prefetch_related("groups")
        return people if request.user.is_superuser else people.filter(is_superuser=False)

    def get_ordering(self, request: HttpRequest) -> list[Any]:
        return [NameOrder("username").asc()]

    @admin.display(description=gettext_lazy("name"), ordering=NameOrder("last_name"))
    def full_name(self, user: User) -> str:
        return user.get_full_name() or "-"

    @admin.display(description=gettext_lazy("roles"))
    def roles(self, user: User) -> str:
        names = sorted(group.name for group in user.groups.all())
        return ", ".join([*([_("superuser")] if user.is_superuser else []), *names]) or "-"

    def get_readonly_fields(self, request: HttpRequest, obj: User | None = None) -> list[str]:
        fields = list(super().get_readonly_fields(request, obj))
        return fields if request.user.is_superuser else [*fields, "is_superuser", "user_permissions"]

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **options: Any) -> Any:
        """Reserve the names of sites' technical users."""
        field = super().formfield_for_dbfield(db_field, request, **options)
        if field and db_field.name == "username":
            message = gettext_lazy("This name is reserved for the keys of a site. Choose another one.")
            field.validators.append(RegexValidator(SITES_USER, message, inverse_match=True))
        return field


@admin.register(Group)
class GroupAdmin(BaseGroupAdmin, ModelAdmin):
    """Groups. Code refers to roles by name, so a role keeps its name and permissions, and cannot be deleted."""

    def has_delete_permission(self, request: HttpRequest, obj: Group | None = None) -> bool:
        return (obj is None or obj.name not in Role) and super().has_delete_permission(request, obj)

    def get_readonly_fields(self, request: HttpRequest, obj: Group | None = None) -> list[str]:
        return ["name", "permissions"] if obj and obj.name in Role else []


@admin.register(AccessAttempt)
class LockoutAdmin(ReadOnlyAdmin):
    """Failed logins that still count, and who is locked out; admins can unlock."""

    list_display = fields = ["username", "ip_address", "failures_since_start", "attempt_time", "state"]
    search_fields = ["=username", "=ip_address"]
    search_help_text = gettext_lazy("Exact username or address")
    ordering = ["-attempt_time"]
    list_per_page = 50
    show_full_result_count = False
    actions = ["release"]  # type: ignore[assignment]

    @admin.display(description=gettext_lazy("state"))
    def state(self, attempt: AccessAttempt) -> str:
        # django-axes counts each browser separately; the limit applies to their sum.
        same = AccessAttempt.objects.filter(username=attempt.username, ip_address=attempt.ip_address)
        failures = same.aggregate(total=Sum("failures_since_start"))["total"] or 0
        until = attempt.attempt_time + settings.AXES_COOLOFF_TIME
        if failures < settings.AXES_FAILURE_LIMIT or until < timezone.now():
            return _("not locked")
        return _("locked until %(time)s") % {"time": exactly(until)}

    def has_release_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("axes.delete_accessattempt")

    @admin.action(description=gettext_lazy("Unlock"), permissions=["release"])
    def release(self, request: HttpRequest, queryset: QuerySet[AccessAttempt]) -> None:
        """Delete the failed logins of the selected names and addresses, of all browsers."""
        pairs = set(queryset.values_list("username", "ip_address"))
        self.log_deletions(request, queryset)
        for username, address in pairs:
            reset(username=username, ip=address)
        text = ngettext("Unlocked %(number)s username.", "Unlocked %(number)s usernames.", len(pairs))
        messages.success(request, text % {"number": number(len(pairs))})
