"""The one page that asks before something is done, and the one form that asks why."""

from typing import Any

from django import forms
from django.contrib.auth.models import AnonymousUser, User
from django.db.models import Q
from django.http import HttpRequest
from django.template.response import TemplateResponse
from django.utils.translation import gettext_lazy
from django_stubs_ext import StrOrPromise
from unfold.admin import ModelAdmin
from unfold.widgets import UnfoldAdminTextInputWidget

from kilit.console.formatting import page
from kilit.lock.models import Activity
from kilit.sentences import english

LOOKED_AT = 200  # of the user's newest activity, by an index
MOST_OFFERED = 8


def reason_field(help_text: StrOrPromise = "", *, most: int = 1000, **options: Any) -> forms.CharField:
    # One line: only such a field can offer reasons to choose from.
    widget = UnfoldAdminTextInputWidget(attrs={"list": "recent-reasons", "autocomplete": "off"})
    options = {"label": gettext_lazy("Reason"), "help_text": help_text, **options}
    return forms.CharField(max_length=most, widget=widget, **options)


class ReasonForm(forms.Form):
    reason = reason_field(gettext_lazy("Shown in each row's timeline, with your name."))

    def __init__(self, *args: Any, help_text: StrOrPromise | None = None, most: int = 1000, **options: Any) -> None:
        super().__init__(*args, **options)
        if help_text is not None:
            self.fields["reason"] = reason_field(help_text, most=most)

    def options(self) -> dict[str, Any]:
        return {}


def confirm_page(
    model_admin: ModelAdmin,
    request: HttpRequest,
    *,
    title: StrOrPromise,
    form: forms.Form | None = None,
    reasons_for: str = "",
    **context: Any,
) -> TemplateResponse:
    """Return the page; what it says and keeps: templates/admin/console/confirm.html.

    `reasons_for` is the verb whose earlier reasons are offered.
    """
    if form and form.fields:
        next(iter(form.fields.values())).widget.attrs["autofocus"] = True
    reasons = recent_reasons(request.user, reasons_for) if reasons_for else []
    context |= {"form": form, "reasons": reasons}
    return page(model_admin, request, "admin/console/confirm.html", title=str(title), **context)


def recent_reasons(user: User | AnonymousUser, verb: str) -> list[str]:
    """Return the user's own reasons without repeats: those for this verb first, each kind newest first."""
    newest = Activity.objects.filter(~Q(person=""), person=user.get_username()).order_by("-created_at", "-id")
    newest_words = newest.values_list("verb", "message")[:LOOKED_AT]
    entries = [entry for entry in newest_words if entry[1] and english(entry[1]) == entry[1]]  # else it is Kilit's own
    in_order = sorted(entries, key=lambda entry: entry[0] != verb)
    return list(dict.fromkeys(message for _verb, message in in_order if "\n" not in message))[:MOST_OFFERED]
