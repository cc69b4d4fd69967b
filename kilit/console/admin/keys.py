"""API keys, and the records of denied requests and pruned rows."""

from datetime import timedelta
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import Q, QuerySet
from django.db.models.functions import Now
from django.http import HttpRequest
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.timezone import localtime, now
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget

from kilit.access.key_scopes import DEFAULT_SCOPES, KeyScope
from kilit.access.models import ApiKey, DenialCode, DeniedRequest
from kilit.access.roles import Role, is_owner, role_of
from kilit.api.queue_api import apis
from kilit.batches.filters import ChoiceFilter, FilterSet, KindFilter
from kilit.console.formatting import age, badge, column, exactly, new_key, number, two_lines
from kilit.console.lists.listing import ListAdmin, ReadOnlyAdmin
from kilit.console.menu import PEOPLE, RECORDS
from kilit.lock.models import Pruning
from kilit.machine_errors import explain
from kilit.sites.people import key_owner_names, key_owners_managed_by, keys_users_of_sites, people_managed_by
from kilit.spans import ago

ADMIN_KEY_LASTS = timedelta(days=366)  # at most


@admin.register(DeniedRequest)
class DeniedRequestAdmin(ReadOnlyAdmin):
    menu = RECORDS.tab(3)
    list_display = ["last_at", "actor", "address", "method", "path", "code", "times"]
    filters = FilterSet((ChoiceFilter(name="code", title=_("code"), column="code", choices=DenialCode.choices),))
    sortable_by: list[str] = []
    search_fields = ["actor__words", "path__words"]
    search_help_text = _("A user, a key's owner, or part of an address")


@admin.register(Pruning)
class PruningAdmin(ReadOnlyAdmin):
    menu = RECORDS.tab(4)
    list_display = ["created_at", "queue", "rows", "events", "states", "before", "actor", "why"]
    search_fields = []

    @admin.display(description=_("why"))
    def why(self, pruning: Pruning) -> str:
        return explain(pruning.message)


class ScopesField(forms.MultipleChoiceField):
    """The scopes of a key; `admin` is offered to owners, on the page of all keys."""

    def __init__(self, *, with_admin: bool = False) -> None:
        self.with_admin = with_admin
        super().__init__(
            label=_("May be used for"),
            help_text=_("Choose no more than the program needs: a key that leaks can do no more."),
            error_messages={"required": _("Choose at least one.")},
            choices=self._choices,
            widget=UnfoldAdminCheckboxSelectMultipleWidget,
        )

    def _choices(self) -> list[tuple[str, str]]:
        used = {KeyScope.READ, KeyScope.OPERATE, *(scope for api in apis for scope in api.scopes)}
        if self.with_admin:
            used.add(KeyScope.ADMIN)
        sent = [str(api.scopes[KeyScope.ENQUEUE]) for api in apis if KeyScope.ENQUEUE in api.scopes]
        words = {"what": ", ".join(sent)}
        return [
            (scope.value, format_html("<b>{}</b> {}", scope.value, scope.label % words))
            for scope in KeyScope
            if scope in used
        ]

    def clean(self, value: object) -> list[str]:
        chosen = super().clean(value)
        return [scope for scope in KeyScope.values if scope in chosen]


class ApiKeyForm(forms.ModelForm[ApiKey]):
    """Refuses what no admin key may be: the database says the same, but not to people."""

    def clean(self) -> dict[str, Any]:
        fields: dict[str, Any] = super().clean() or self.cleaned_data
        if KeyScope.ADMIN not in fields.get("scopes", ()):
            return fields
        if fields["scopes"] != [KeyScope.ADMIN]:
            self.add_error("scopes", gettext("A key with the scope admin is for nothing else. Choose it alone."))
        ends = fields.get("expires_at")
        if "expires_at" not in self.errors and (ends is None or ends > now() + ADMIN_KEY_LASTS):
            self.add_error("expires_at", gettext("A key with the scope admin expires within a year. Enter when."))
        owner = fields.get("user") or (self.instance.user if self.instance.pk else None)
        if owner is not None and role_of(owner) not in (Role.ADMIN, Role.OWNER):
            self.add_error("scopes", gettext("The key's user may not administer sites: choose an admin or an owner."))
        return fields


def format_scopes(key: ApiKey) -> str:
    return gettext("all but admin") if set(key.scopes) == set(DEFAULT_SCOPES) else ", ".join(key.scopes)


def owner_name(key: ApiKey) -> str:
    username = key.user.get_username()
    return getattr(key, "owner_name", None) or key_owner_names([username])[username]


def _key_state(key: ApiKey) -> SafeString:
    if key.revoked_at:
        return badge(gettext("revoked"), title=exactly(key.revoked_at))
    is_expired = key.expires_at and key.expires_at <= now()
    return badge(gettext("expired"), "warning") if is_expired else badge(gettext("active"), "success")


owner = column("owner", _("owner"), owner_name)
scopes_shown = column("scopes_shown", _("scopes"), format_scopes)
key_name = column("name", _("name"), lambda key: two_lines(key.name, f"…{key.hint}"), order="name")
key_state = column("state", _("state"), _key_state)
used = column("used", _("last used"), lambda key: ago(key.used_at), order="used_at")
expires = column(
    "expires",
    _("expires"),
    lambda key: date_format(localtime(key.expires_at)) if key.expires_at else "-",
    order="expires_at",
)


KEY_STATES = KindFilter(
    name="status",
    title=_("state"),
    kinds={
        "active": (_("Active"), Q(revoked_at=None) & (Q(expires_at=None) | Q(expires_at__gt=Now()))),
        "expired": (_("Expired"), Q(revoked_at=None, expires_at__lte=Now())),
        "revoked": (_("Revoked"), Q(revoked_at__isnull=False)),
    },
)


@admin.register(ApiKey)
class ApiKeyAdmin(ListAdmin):
    """Keys of users, services and sites. An admin revokes those of the people and sites they manage, an owner all."""

    menu = PEOPLE.tab(2)
    list_display = [key_name, key_state, owner, scopes_shown, used, expires, age]
    filters = FilterSet((KEY_STATES,))
    list_select_related = ["user"]
    search_fields = ["name__words", "user__username__words"]
    search_help_text = _("A key's name, its user or its site")
    autocomplete_fields = ["user"]
    form = ApiKeyForm
    fields = ["user", "name", "scopes", "expires_at"]
    actions = ["revoke"]

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **options: object) -> object:
        if db_field.name == "scopes":
            return ScopesField(with_admin=is_owner(request.user))
        return super().formfield_for_dbfield(db_field, request, **options)

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **options: object) -> object:
        """Issue keys only for users that this user may change: a key is as good as a password."""
        if db_field.name == "user":
            refusal = _("You cannot issue a key for this user. Keys of a site are issued on the site's page.")
            owners = people_managed_by(request.user, itself=True)
            options |= {"queryset": owners, "error_messages": {"invalid_choice": refusal}}
        return super().formfield_for_foreignkey(db_field, request, **options)

    def get_queryset(self, request: HttpRequest) -> QuerySet[ApiKey]:
        keys: QuerySet[ApiKey] = super().get_queryset(request)
        return keys if is_owner(request.user) else keys.filter(user__in=key_owners_managed_by(request.user))

    def complete(self, rows: list[Any]) -> None:
        names = key_owner_names({key.user.get_username() for key in rows})
        for key in rows:
            key.owner_name = names[key.user.get_username()]

    def matches(self, word: str) -> list[QuerySet[Any]]:
        of_sites = ApiKey.objects.filter(user__username__in=keys_users_of_sites(word)).values("pk")
        return [*super().matches(word), of_sites]

    def get_fields(self, request: HttpRequest, obj: ApiKey | None = None) -> list[object]:
        return [owner, *self.fields[1:]] if obj else [*self.fields]

    def get_readonly_fields(self, request: HttpRequest, obj: ApiKey | None = None) -> list[object]:
        """A key keeps its owner, and only those who may issue it may extend it."""
        if obj is None:
            return []
        may_issue = people_managed_by(request.user, itself=True).filter(pk=obj.user_id).exists()
        if KeyScope.ADMIN in obj.scopes and not is_owner(request.user):
            may_issue = False
        return [owner] if may_issue else self.get_fields(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: object = None) -> bool:
        """Keys are revoked and stay, so that their history can be traced."""
        return False

    def save_model(self, request: HttpRequest, obj: ApiKey, form: forms.ModelForm[ApiKey], change: bool) -> None:
        text = None if change else obj.make_text()
        super().save_model(request, obj, form, change)
        if text:
            messages.warning(request, new_key(gettext("Copy the key now; it cannot be viewed again:"), text))

    @admin.action(description=_("Revoke — active keys only"), permissions=["change"])
    def revoke(self, request: HttpRequest, queryset: QuerySet[ApiKey]) -> None:
        total = queryset.count()
        revoked = ApiKey.objects.filter(pk__in=queryset.values("pk")).revoke()
        report = gettext("Revoked %(revoked)s of %(asked)s; the others were already revoked.")
        messages.success(request, report % {"revoked": number(revoked), "asked": number(total)})
