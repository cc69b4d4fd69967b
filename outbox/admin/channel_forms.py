"""The form of a channel, and of its rules."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.forms import ModelForm
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.admin import StackedInline
from unfold.widgets import (
    UnfoldAdminCheckboxSelectMultipleWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextInputWidget,
)

from kilit.access.scopes import scope_choices, scopes_seen_by
from kilit.console.account.preferences import zones
from kilit.console.dashboard.panels import panels
from kilit.problems.disk import PART as INSTALLATION
from kilit.problems.kinds import ProblemKind
from kilit.problems.registry import Severity
from kilit.problems.workers import TASKS, WORKERS
from outbox.alerts.addresses import check_address
from outbox.models import AlertRule, Channel


class ChannelForm(ModelForm[Channel]):
    """The address is encrypted: it is entered, and never shown again."""

    may_name_hosts = False  # set for the request
    address = forms.CharField(
        label=gettext_lazy("Address"),
        max_length=2000,
        required=False,
        strip=True,
        widget=UnfoldAdminTextInputWidget(attrs={"autocomplete": "off", "spellcheck": "false"}),
        help_text=gettext_lazy(
            "An e-mail address, or an address of apprise such as tgram://token/chat or ntfy://topic."
        ),
    )
    time_zone = forms.ChoiceField(
        label=gettext_lazy("Time zone"),
        choices=lambda: [(name, name.replace("_", " ")) for name in zones()],
        widget=UnfoldAdminSelectWidget,
        help_text=gettext_lazy("Of the quiet hours, and of the times in messages."),
    )

    class Meta:
        model = Channel
        fields = ["name", "owner", "kind", "language", "time_zone", "quiet_from", "quiet_to", "is_on"]

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        if self.instance.encrypted_address:
            self.fields["address"].help_text = _("Encrypted; it cannot be viewed again. Leave it empty to keep it.")

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        address, kind = cleaned.get("address"), cleaned.get("kind")
        needs_address = not self.instance.encrypted_address or "kind" in self.changed_data
        if address and kind:
            try:
                check_address(kind, address, may_name_hosts=self.may_name_hosts)
            except ValidationError as error:
                self.add_error("address", error)
        elif needs_address:
            self.add_error("address", _("Enter the address."))
        if (cleaned.get("quiet_from") is None) != (cleaned.get("quiet_to") is None):
            self.add_error("quiet_to", _("Enter both times, or none."))
        return cleaned

    def save(self, commit: bool = True) -> Channel:
        if self.cleaned_data.get("address"):
            self.instance.address = self.cleaned_data["address"]
        return super().save(commit)


def parts() -> list[tuple[str, Any]]:
    """Return the parts of the product that have problems, for a rule to choose one."""
    queues = [(panel.table.queue, panel.queue.title) for panel in panels]
    others = [(WORKERS, _("Workers")), (TASKS, _("Scheduled tasks")), (INSTALLATION, _("Installation"))]
    return [("", _("All")), *queues, *others]


class AlertRuleForm(ModelForm[AlertRule]):
    user: Any = None  # set for the request
    part = forms.ChoiceField(label=gettext_lazy("Queue"), required=False, widget=UnfoldAdminSelectWidget)
    scope = forms.ChoiceField(
        label=gettext_lazy("Site"), required=False, widget=UnfoldAdminSelectWidget(attrs={"data-choose": ""})
    )
    kinds = forms.MultipleChoiceField(
        label=gettext_lazy("Problems"),
        choices=ProblemKind.choices,
        required=False,
        widget=UnfoldAdminCheckboxSelectMultipleWidget,
        help_text=gettext_lazy("All if none is chosen."),
    )
    min_severity = forms.TypedChoiceField(
        label=gettext_lazy("From this severity"),
        coerce=int,
        choices=lambda: [(level.value, level.word) for level in Severity],
        initial=Severity.WARNING.value,
        widget=UnfoldAdminSelectWidget,
    )

    class Meta:
        model = AlertRule
        fields = ["part", "scope", "kinds", "min_count", "min_severity"]

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        seen = scopes_seen_by(self.user)
        sites = [(scope, name) for scope, name in scope_choices().items() if seen is None or scope in seen]
        stored = self.instance.scope
        if stored and stored not in dict(sites):  # a site that the user left, or one of another owner's channel
            sites.append((stored, stored))
        part, scope = self.fields["part"], self.fields["scope"]
        part.choices, scope.choices = parts(), [("", _("All")), *sites]  # type: ignore[attr-defined]


class AlertRuleInline(StackedInline):
    model = AlertRule
    form = AlertRuleForm
    extra = 0
    verbose_name, verbose_name_plural = gettext_lazy("rule"), gettext_lazy("rules")

    def get_formset(self, request: HttpRequest, obj: object = None, **options: object) -> object:
        options["form"] = type("RequestRuleForm", (AlertRuleForm,), {"user": request.user})
        return super().get_formset(request, obj, **options)

    def has_add_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return True

    has_view_permission = has_change_permission = has_delete_permission = has_add_permission
