"""Scopes of API keys in the console: a field to choose them, who may choose `admin`, and how they are listed."""

from datetime import timedelta
from typing import Any

from django import forms
from django.utils import timezone
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget

from kilit.access.key_scopes import DEFAULT_SCOPES, KeyScope
from kilit.access.models import ApiKey
from kilit.access.roles import Role, role_of
from kilit.api.queue_api import apis

ADMIN_KEY_LASTS = timedelta(days=366)  # at most


class ScopesField(forms.MultipleChoiceField):
    """The scopes of a key; `admin` is offered to owners, on the page of all keys."""

    def __init__(self, *, with_admin: bool = False) -> None:
        self.with_admin = with_admin
        super().__init__(
            label=gettext_lazy("What the key may be used for"),
            help_text=gettext_lazy("Choose no more than the program needs: a key that leaks can do no more."),
            error_messages={"required": gettext_lazy("Choose at least one.")},
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
            self.add_error("scopes", _("A key with the scope admin is for nothing else. Choose it alone."))
        ends = fields.get("expires_at")
        if "expires_at" not in self.errors and (ends is None or ends > timezone.now() + ADMIN_KEY_LASTS):
            self.add_error("expires_at", _("A key with the scope admin expires within a year. Enter when."))
        owner = fields.get("user") or (self.instance.user if self.instance.pk else None)
        if owner is not None and role_of(owner) not in (Role.ADMIN, Role.OWNER):
            self.add_error("scopes", _("The key's user may not administer sites: choose an admin or an owner."))
        return fields


def format_scopes(key: ApiKey) -> str:
    return _("all but admin") if set(key.scopes) == set(DEFAULT_SCOPES) else ", ".join(key.scopes)
