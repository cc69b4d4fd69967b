"""Scopes of API keys in the console: a field to choose them, and how they are listed."""

from typing import Any

from django import forms
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget

from kilit.access.key_scopes import KeyScope
from kilit.access.models import ApiKey


def _choices() -> list[tuple[str, str]]:
    return [(scope.value, format_html("<b>{}</b> {}", scope.value, scope.label)) for scope in KeyScope]


class ScopesField(forms.MultipleChoiceField):
    def __init__(self, **options: Any) -> None:
        described = {
            "label": gettext_lazy("What the key may be used for"),
            "initial": KeyScope.values,
            "help_text": gettext_lazy("Choose no more than the program needs: a key that leaks can do no more."),
            "error_messages": {"required": gettext_lazy("Choose at least one.")},
        }
        super().__init__(
            choices=_choices,
            widget=UnfoldAdminCheckboxSelectMultipleWidget,
            **{**described, **options},
        )

    def clean(self, value: Any) -> list[str]:
        """Return the scopes in the order in which they are listed everywhere."""
        chosen = super().clean(value)
        return [scope for scope in KeyScope.values if scope in chosen]


def format_scopes(key: ApiKey) -> str:
    return _("all") if set(key.scopes) == set(KeyScope.values) else ", ".join(key.scopes)
