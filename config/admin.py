"""People and roles in the console, and what must not be in it."""

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

from kilit.access.roles import Role
from kilit.console.formatting import exactly, number
from kilit.console.listing import ReadOnlyAdmin
from ociqueue.models.site import KEYS_USER_PREFIX

SITES_USER = rf"^{KEYS_USER_PREFIX}[0-9a-f]{{32}}$"  # the prefix and a site's public id

admin.site.unregister([User, Group])
# Its "resubmit" drops a task's options and deletes history, and its tasks are only doorbells.
admin.site.unregister([Failure, OrmQ, Schedule, Success])


@admin.register(User)
class UserAdmin(BaseUserAdmin[User], ModelAdmin):
    """People and services; a service has no usable password, only keys.

    The users behind sites' keys are not among them: whoever gave one a key or a password would be inside a site that is
    not theirs. A site's own page has its keys.
    """

    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm

    def get_queryset(self, request: HttpRequest) -> QuerySet[User]:
        """Keep superusers to superusers: whoever changed one's password would become one."""
        people: QuerySet[User] = super().get_queryset(request).exclude(username__regex=SITES_USER)
        return people if request.user.is_superuser else people.filter(is_superuser=False)

    def get_readonly_fields(self, request: HttpRequest, obj: User | None = None) -> list[str]:
        fields = list(super().get_readonly_fields(request, obj))
        return fields if request.user.is_superuser else [*fields, "is_superuser", "user_permissions"]

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **options: Any) -> Any:
        """Keep the names of sites' users free: a site would take whoever has one for its own."""
        field = super().formfield_for_dbfield(db_field, request, **options)
        if field and db_field.name == "username":
            words = gettext_lazy("This name belongs to the keys of a site; choose another.")
            field.validators.append(RegexValidator(SITES_USER, words, inverse_match=True))
        return field


@admin.register(Group)
class GroupAdmin(BaseGroupAdmin, ModelAdmin):
    """Roles and other groups; a role is what its name says to the code, so it keeps its name and its permissions."""

    def has_delete_permission(self, request: HttpRequest, obj: Group | None = None) -> bool:
        """Keep the roles; the list's action asks about each that is selected."""
        return (obj is None or obj.name not in Role) and super().has_delete_permission(request, obj)

    def get_readonly_fields(self, request: HttpRequest, obj: Group | None = None) -> list[str]:
        """Leave nothing of a role to be changed; migrations give it what is new."""
        return ["name", "permissions"] if obj and obj.name in Role else []


@admin.register(AccessAttempt)
class LockoutAdmin(ReadOnlyAdmin):
    """Failed logins that still count, and who is shut out; admins let people in again."""

    list_display = ["username", "ip_address", "failures_since_start", "attempt_time", "state"]
    search_fields = ["=username", "=ip_address"]
    search_help_text = gettext_lazy("A whole name or address")
    fields = ["username", "ip_address", "failures_since_start", "attempt_time", "state"]
    ordering = ["-attempt_time"]
    list_per_page = 50
    show_full_result_count = False
    actions = ["release"]  # type: ignore[assignment]

    @admin.display(description=gettext_lazy("state"))
    def state(self, attempt: AccessAttempt) -> str:
        """Tell who is shut out, and for how long."""
        # Browsers are counted apart and judged together.
        same = AccessAttempt.objects.filter(username=attempt.username, ip_address=attempt.ip_address)
        failures = same.aggregate(total=Sum("failures_since_start"))["total"] or 0
        until = attempt.attempt_time + settings.AXES_COOLOFF_TIME
        if failures < settings.AXES_FAILURE_LIMIT or until < timezone.now():
            return _("may try again")
        return _("shut out until %(time)s") % {"time": exactly(until)}

    def has_release_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("axes.delete_accessattempt")

    @admin.action(description=gettext_lazy("Let in again — shut out or not"), permissions=["release"])
    def release(self, request: HttpRequest, queryset: QuerySet[AccessAttempt]) -> None:
        """Forget the failed logins of the chosen names and addresses, from whichever browser."""
        pairs = set(queryset.values_list("username", "ip_address"))
        self.log_deletions(request, queryset)
        for username, address in pairs:
            reset(username=username, ip=address)
        text = ngettext("Let %(number)s name in again.", "Let %(number)s names in again.", len(pairs))
        messages.success(request, text % {"number": number(len(pairs))})
