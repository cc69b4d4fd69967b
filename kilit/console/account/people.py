"""People in the console: admins manage the people of their own sites, owners everyone but superusers."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.auth.admin import UserAdmin as BaseUserAdmin
from django.contrib.auth.models import Group, User
from django.core.validators import RegexValidator
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget, UnfoldAdminSelectWidget

from kilit.access.roles import is_owner
from kilit.access.second_factor import is_on, remove_all, with_second_factor
from kilit.batches.filters import ChoiceFilter, FilterSet, KindFilter
from kilit.console.formatting import badge, column, number
from kilit.console.lists.fields import SiteChoiceField
from kilit.console.lists.listing import ListAdmin
from kilit.console.menu import PEOPLE
from kilit.postgres.collation import NameOrder
from kilit.sites.models import SiteMembership
from kilit.sites.people import GIVEN_BY_ADMINS, KEYS_USERS, people_managed_by, people_seen_by
from kilit.sites.site_model import sites

PERSONAL = ("first_name", "last_name", "email")
# Without the password and what only others give.
SEEN = (
    (None, {"fields": ("username", *PERSONAL)}),
    (gettext_lazy("Permissions"), {"fields": ("is_active", "is_staff", "groups")}),
    (gettext_lazy("Important dates"), {"fields": ("last_login", "date_joined")}),
)
MEMBER = {"fields": ("site", "role")}

admin.site.unregister([User, Group])  # roles are chosen on a person's page


class MemberCreationForm(UserCreationForm):
    """The form of an admin who is no owner: a new person belongs to one of the admin's sites from the start."""

    site = SiteChoiceField(
        help_text=gettext_lazy("The person becomes a member of this site. You can add more sites later."),
    )
    role = forms.ChoiceField(
        label=gettext_lazy("Role"),
        choices=[(role.value, role.label) for role in GIVEN_BY_ADMINS],
        widget=UnfoldAdminSelectWidget,
    )


STATES = KindFilter(
    name="status",
    title=gettext_lazy("state"),
    kinds={
        "active": (gettext_lazy("Active"), Q(is_active=True)),
        "inactive": (gettext_lazy("Inactive"), Q(is_active=False)),
    },
)


def _groups(user: Any) -> list[tuple[str, str]]:
    """Return the groups, which belong to the installation, for owners alone."""
    return [(name, name) for name in Group.objects.values_list("name", flat=True)] if is_owner(user) else []


def _roles(user: User) -> str:
    names = sorted(group.name for group in user.groups.all())
    return ", ".join([*([_("superuser")] if user.is_superuser else []), *names]) or "-"


full_name = column(
    "full_name", gettext_lazy("name"), lambda user: user.get_full_name() or "-", order=NameOrder("last_name")
)
roles = column("roles", gettext_lazy("roles"), _roles)
state = column(
    "state",
    gettext_lazy("state"),
    lambda user: badge(_("active"), "success") if user.is_active else badge(_("inactive")),
)
second_factor = column(
    "second_factor", gettext_lazy("second factor"), lambda user: _("yes") if user.has_second_factor else _("no")
)
ROLE = ChoiceFilter(name="role", title=gettext_lazy("role"), column="groups__name", choices=_groups)


@admin.register(User)
class UserAdmin(BaseUserAdmin[User], ListAdmin):  # type: ignore[misc] # Django's types are wider
    """People and services; a service has no usable password, only keys.

    The technical users that hold sites' keys are hidden: a key or password added to one would give access to its site.
    A site's own page manages its keys.
    """

    menu = PEOPLE
    is_searched = True  # by Ctrl+K
    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm
    list_display = ["username", state, full_name, "email", roles, "last_login"]
    search_fields = [f"{name}__words" for name in ("username", "first_name", "last_name", "email")]
    filters = FilterSet((STATES, ROLE))
    actions = ["remove_second_factor"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[User]:
        people: QuerySet[User] = super().get_queryset(request).filter(pk__in=people_seen_by(request.user).values("pk"))
        return with_second_factor(people).prefetch_related("groups")

    def get_list_display(self, request: HttpRequest) -> Any:
        return [*self.list_display, *([second_factor] if is_on() else [])]

    def get_ordering(self, request: HttpRequest) -> list[Any]:
        return [NameOrder("username").asc()]

    def describe_result(self, user: User) -> tuple[str, ...]:
        return user.get_username(), user.get_full_name()

    # Who may do what; kilit.sites.people says whom an admin manages.

    def has_view_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        return super().has_view_permission(request, obj) and (obj is None or _is_in(people_seen_by(request.user), obj))

    def has_add_permission(self, request: HttpRequest) -> bool:
        if not super().has_add_permission(request):
            return False
        return is_owner(request.user) or sites().administered_by(request.user).exists()

    def has_change_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        may = super().has_change_permission(request, obj)
        return may and (obj is None or _is_in(people_managed_by(request.user, itself=True), obj))

    def has_delete_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        may = super().has_delete_permission(request, obj)
        return may and (obj is None or _is_in(people_managed_by(request.user), obj))

    def user_change_password(self, request: HttpRequest, id: str, form_url: str = "") -> HttpResponse:  # noqa: A002
        """One's own password is changed where the old one is asked for."""
        if id == str(request.user.pk):
            return HttpResponseRedirect(reverse("admin:password_change"))
        return super().user_change_password(request, id, form_url)

    def has_remove_second_factor_permission(self, request: HttpRequest) -> bool:
        return is_on() and is_owner(request.user)

    @admin.action(description=gettext_lazy("Remove the second factor"), permissions=["remove_second_factor"])
    def remove_second_factor(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        """For those who have lost theirs; one's own is removed where the password is asked for."""
        by: Any = request.user
        managed = people_managed_by(by).exclude(pk=by.pk)
        count = remove_all(by, queryset.filter(pk__in=managed.values("pk")))
        text = ngettext(
            "Removed the second factor of %(number)s user.", "Removed the second factor of %(number)s users.", count
        )
        messages.success(request, text % {"number": number(count)})
        if queryset.filter(pk=by.pk).exists():
            messages.warning(request, _("Your own is removed on the page of your account."))

    # The forms

    def get_fieldsets(self, request: HttpRequest, obj: User | None = None) -> Any:
        if obj is None:
            member = [] if is_owner(request.user) else [(gettext_lazy("Membership"), MEMBER)]
            return [*super().get_fieldsets(request, obj), *member]
        return super().get_fieldsets(request, obj) if self._manages(request, obj) else SEEN

    def get_readonly_fields(self, request: HttpRequest, obj: User | None = None) -> list[str]:
        fields = list(super().get_readonly_fields(request, obj))
        if request.user.is_superuser:
            return fields
        if obj and not self._manages(request, obj):  # the admin's own account
            shown = [name for _title, options in SEEN for name in options["fields"]]
            return [*fields, *(name for name in shown if name not in PERSONAL)]
        return [*fields, "is_superuser", "user_permissions"]

    def get_form(self, request: HttpRequest, obj: User | None = None, change: bool = False, **options: Any) -> Any:
        if obj is not None:
            own = {} if self._manages(request, obj) else {"form": forms.ModelForm}
            return super().get_form(request, obj, change=change, **(options | own))
        if is_owner(request.user):
            return super().get_form(request, obj, change=change, **options)
        form: Any = super().get_form(request, obj, change=change, **(options | {"form": MemberCreationForm}))
        form.base_fields["site"].offer(sites().administered_by(request.user).active())
        return form

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **options: Any) -> Any:
        """Reserve the names of sites' technical users."""
        field = super().formfield_for_dbfield(db_field, request, **options)
        if field and db_field.name == "username":
            message = gettext_lazy("This name is reserved for the keys of a site. Choose another one.")
            field.validators.append(RegexValidator(KEYS_USERS, message, inverse_match=True))
        return field

    def formfield_for_manytomany(self, db_field: Any, request: HttpRequest, **options: Any) -> Any:
        if db_field.name == "groups":
            options["widget"] = UnfoldAdminCheckboxSelectMultipleWidget  # there are few
            if not is_owner(request.user):
                options["queryset"] = Group.objects.filter(name__in=GIVEN_BY_ADMINS)
        return super().formfield_for_manytomany(db_field, request, **options)

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        super().save_related(request, form, formsets, change)
        if isinstance(form, MemberCreationForm):
            user, role = form.instance, form.cleaned_data["role"]
            user.groups.add(Group.objects.get(name=role))
            SiteMembership.objects.create(site=form.cleaned_data["site"], user=user, role=role)

    def save_model(self, request: HttpRequest, obj: User, form: Any, change: bool) -> None:
        if isinstance(form, MemberCreationForm):
            obj.is_staff = True  # may log in to the console
        super().save_model(request, obj, form, change)

    def _manages(self, request: HttpRequest, person: User) -> bool:
        return _is_in(people_managed_by(request.user), person)


def _is_in(people: QuerySet[User], person: User) -> bool:
    return people.filter(pk=person.pk).exists()
