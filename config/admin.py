"""People and roles in the console, and what must not be in it."""

from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin as BaseGroupAdmin
from django.contrib.auth.admin import UserAdmin as BaseUserAdmin
from django.contrib.auth.models import Group, User
from django.db.models import QuerySet
from django.http import HttpRequest
from django_q.models import Failure, OrmQ, Schedule, Success
from unfold.admin import ModelAdmin
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

admin.site.unregister([User, Group])
# Its "resubmit" drops a task's options and deletes history, and its tasks are only doorbells.
admin.site.unregister([Failure, OrmQ, Schedule, Success])


@admin.register(User)
class UserAdmin(BaseUserAdmin[User], ModelAdmin):
    """People and services; a service has no usable password, only keys."""

    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm

    def get_queryset(self, request: HttpRequest) -> QuerySet[User]:
        """Keep superusers to superusers: whoever changed one's password would become one."""
        people: QuerySet[User] = super().get_queryset(request)
        return people if request.user.is_superuser else people.filter(is_superuser=False)

    def get_readonly_fields(self, request: HttpRequest, obj: User | None = None) -> list[str]:
        """Roles are given; what goes beyond them only a superuser gives."""
        fields = list(super().get_readonly_fields(request, obj))
        return fields if request.user.is_superuser else [*fields, "is_superuser", "user_permissions"]


@admin.register(Group)
class GroupAdmin(BaseGroupAdmin, ModelAdmin):
    """Roles."""
