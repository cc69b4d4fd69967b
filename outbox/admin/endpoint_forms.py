"""The forms of an endpoint."""

from datetime import datetime
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.widgets import (
    UnfoldAdminCheckboxSelectMultipleWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextInputWidget,
)

from kilit.api.webhooks import kinds_beyond, webhook_kinds
from kilit.console.lists.confirming import ReasonForm, reason_field
from kilit.outgoing.urls import InvalidUrl
from kilit.sites.scopes import INSTALLATION, scope_choices, scopes_run_by
from outbox.models import Endpoint
from outbox.models.endpoint import check_url

LOCAL_TIME = "%Y-%m-%dT%H:%M"


class EndpointForm(forms.ModelForm[Endpoint]):
    user: Any = None  # set by the admin, for each request

    scope = forms.ChoiceField(
        label=gettext_lazy("Site"),
        required=False,
        widget=UnfoldAdminSelectWidget(attrs={"data-choose": ""}),
        help_text=gettext_lazy("Events of this site are reported. This cannot be changed later."),
    )
    kinds = forms.MultipleChoiceField(
        label=gettext_lazy("Events"),
        required=False,
        widget=UnfoldAdminCheckboxSelectMultipleWidget,
        help_text=gettext_lazy(
            "PDF and cutting jobs belong to no site: their events go to endpoints of the whole installation. With none "
            "chosen, it only receives the callbacks of PDF jobs."
        ),
    )

    class Meta:
        model = Endpoint
        fields = ("url", "description", "kinds", "scope")

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        labels = {name: format_html("<b>{}</b> {}", name, kind.about) for name, kind in webhook_kinds.items()}
        for name in kinds_beyond(self.instance.scope, webhook_kinds):  # of a site
            del labels[name]
        stored_kinds: Any = self.instance.kinds  # also those that this version no longer has
        fields: Any = self.fields
        fields["kinds"].choices = [*labels.items(), *((name, name) for name in stored_kinds if name not in labels)]
        if not self.instance._state.adding:
            del self.fields["scope"]
            return
        run = scopes_run_by(self.user)
        sites = [(scope, name) for scope, name in scope_choices().items() if run is None or scope in run]
        everything = [(INSTALLATION, _("The whole installation"))] if run is None else []
        fields["scope"].choices = [*everything, *sorted(sites, key=lambda site: site[1].casefold())]
        fields["scope"].required = run is not None

    def clean_url(self) -> str:
        url: str = self.cleaned_data["url"].strip()
        try:
            check_url(url)
        except InvalidUrl as why:
            raise ValidationError(str(why)) from None
        return url

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        scope = cleaned.get("scope", self.instance.scope)
        if beyond := kinds_beyond(scope, cleaned.get("kinds", ())):
            message = _("These are not reported to endpoints of a site: %(kinds)s.") % {"kinds": ", ".join(beyond)}
            self.add_error("kinds", message)
        return cleaned


class SwitchForm(ReasonForm):
    reason = reason_field(gettext_lazy("Shown in the activity, with your name."), most=200)


class MomentInput(UnfoldAdminTextInputWidget):
    input_type = "datetime-local"

    def format_value(self, value: Any) -> str | None:
        return value.strftime(LOCAL_TIME) if isinstance(value, datetime) else value


class SpanForm(forms.Form):
    start = forms.DateTimeField(
        label=gettext_lazy("From"), input_formats=[LOCAL_TIME, "%Y-%m-%d %H:%M"], widget=MomentInput
    )
    end = forms.DateTimeField(
        label=gettext_lazy("To"), input_formats=[LOCAL_TIME, "%Y-%m-%d %H:%M"], widget=MomentInput
    )

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        start, end = cleaned.get("start"), cleaned.get("end")
        if start and end and start >= end:
            raise ValidationError(_("The end has to be after the beginning."))
        return cleaned
