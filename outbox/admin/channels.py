"""Alert channels in the console: users manage their own, owners all."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet
from django.forms import ModelForm
from django.http import HttpRequest, HttpResponse
from django.utils.safestring import SafeString
from django.utils.translation import get_language, gettext_lazy
from django.utils.translation import gettext as _
from unfold.admin import StackedInline
from unfold.widgets import UnfoldAdminSelectWidget

from kilit.access.roles import is_owner
from kilit.batches.filters import FilterSet, KindFilter
from kilit.console.account.preferences import zone_of, zones
from kilit.console.dashboard.page import panels
from kilit.console.formatting import badge, column, joined
from kilit.console.lists.fields import choice_field, choices_field, text_field
from kilit.console.lists.listing import ListAdmin, RowPage
from kilit.console.menu import ALERTS
from kilit.machine_errors import explain
from kilit.problems.disk import PART as INSTALLATION
from kilit.problems.kinds import ProblemKind
from kilit.problems.registry import Severity
from kilit.problems.workers import TASKS, WORKERS
from kilit.sites.scopes import scope_choices, scopes_seen_by
from kilit.spans import ago
from kilit.workers.models import Heartbeat
from outbox.admin.messages import ON_OR_OFF
from outbox.alerts.addresses import check_address, shown_address
from outbox.alerts.making import send_test
from outbox.models import AlertRule, Channel


class ChannelForm(ModelForm[Channel]):
    """The address is encrypted: it is entered, and never shown again."""

    may_name_hosts = False  # set for the request
    address = text_field(
        gettext_lazy("Address"),
        2000,
        required=False,
        help_text=gettext_lazy("An e-mail address, or one of apprise, such as tgram://token/chat."),
    )
    time_zone = choice_field(
        gettext_lazy("Time zone"),
        lambda: [(name, name.replace("_", " ")) for name in zones()],
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
    queues = [(panel.queue.table.queue, panel.queue.title) for panel in panels()]
    other_parts = [(WORKERS, _("Workers")), (TASKS, _("Scheduled tasks")), (INSTALLATION, _("Installation"))]
    return [("", _("All")), *queues, *other_parts]


class AlertRuleForm(ModelForm[AlertRule]):
    user: Any = None  # set for the request
    part = choice_field(gettext_lazy("Queue"), required=False)
    scope = choice_field(gettext_lazy("Site"), required=False, attrs={"data-choose": ""})
    kinds = choices_field(
        gettext_lazy("Problems"), ProblemKind.choices, help_text=gettext_lazy("All if none is chosen.")
    )
    min_severity = forms.TypedChoiceField(
        label=gettext_lazy("From this severity"),
        coerce=int,
        choices=Severity.choices,
        initial=Severity.WARNING.value,
        widget=UnfoldAdminSelectWidget,
    )

    class Meta:
        model = AlertRule
        fields = ["part", "scope", "kinds", "min_count", "min_severity"]

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        scopes = scopes_seen_by(self.user)
        sites = [(scope, name) for scope, name in scope_choices().items() if scopes is None or scope in scopes]
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


def _result(channel: Channel) -> SafeString | str:
    if channel.error:
        return badge(_("failed"), "danger", title=explain(channel.error))
    return _("sent %(when)s") % {"when": ago(channel.sent_at)} if channel.sent_at else _("nothing sent yet")


def _quiet(channel: Channel) -> str:
    if channel.quiet_from is None or channel.quiet_to is None:
        return "-"
    return f"{channel.quiet_from:%H:%M}–{channel.quiet_to:%H:%M}"


address = column("shown", gettext_lazy("address"), shown_address)
owner = column("of", gettext_lazy("owner"), lambda channel: str(channel.owner or _("Installation")))
state = column(
    "state", gettext_lazy("state"), lambda channel: badge(_("on"), "success") if channel.is_on else badge(_("off"))
)
quiet = column("quiet", gettext_lazy("quiet hours"), _quiet)
result = column("result", gettext_lazy("last result"), _result)
outcome = column(
    "outcome", gettext_lazy("last result"), lambda channel: joined(_result(channel), explain(channel.error))
)
STATES = KindFilter(name="status", title=gettext_lazy("state"), kinds=ON_OR_OFF)


@transaction.atomic
def test_page(model_admin: ListAdmin, request: HttpRequest, channel: Channel) -> HttpResponse | None:
    if request.method != "POST":
        sentences = [_("A short message is sent to %(address)s at once.") % {"address": shown_address(channel)}]
        title, submit = _("Send a test?"), _("Send a test")
        return model_admin.confirm(request, channel, title=title, sentences=sentences, submit=submit)
    if not channel.is_on:
        messages.warning(request, _("The channel is off: switch it on first."))
        return None
    send_test(channel)
    model_admin.log_change(request, channel, "Sent a test.")
    if Heartbeat.objects.alive().exists():
        messages.success(request, _("The test is on its way; reload the list to see the result."))
    else:
        messages.warning(request, _("The test waits until a worker is started."))
    return None


@admin.register(Channel)
class ChannelAdmin(ListAdmin):
    menu = ALERTS
    list_display = ["name", address, owner, state, quiet, result]
    filters = FilterSet((STATES,))
    search_fields = ["name__words"]
    list_select_related = ["owner"]
    list_before_template = change_form_before_template = "admin/outbox/channel_intro.html"
    form = ChannelForm
    inlines = [AlertRuleInline]
    autocomplete_fields = ["owner"]
    actions = None
    row_pages = {"test": RowPage(test_page, "change")}

    # Who may

    def get_queryset(self, request: HttpRequest) -> QuerySet[Channel]:
        return Channel.objects.managed_by(request.user)

    def has_view_permission(self, request: HttpRequest, obj: Channel | None = None) -> bool:
        return bool(request.user.has_perm("outbox.operate_channel"))

    has_module_permission = has_add_permission = has_change_permission = has_view_permission

    def has_delete_permission(self, request: HttpRequest, obj: Channel | None = None) -> bool:
        """Channels are switched off and stay, as their messages do."""
        return False

    # The form

    def get_fields(self, request: HttpRequest, obj: Channel | None = None) -> list[object]:
        owners = ["owner"] if is_owner(request.user) else []
        last = [outcome] if obj else []
        times = [("language", "time_zone"), ("quiet_from", "quiet_to")]
        return ["name", *owners, ("kind", "address"), *times, "is_on", *last]

    def get_readonly_fields(self, request: HttpRequest, obj: Channel | None = None) -> list[object]:
        return [outcome] if obj else []

    def get_form(self, request: HttpRequest, obj: Channel | None = None, **options: object) -> Any:
        form = super().get_form(request, obj, **options)
        return type("RequestChannelForm", (form,), {"may_name_hosts": is_owner(request.user)})

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, object]:
        own_settings = {"owner": request.user.pk, "language": get_language(), "time_zone": str(zone_of(request))}
        return {**own_settings, **super().get_changeform_initial_data(request)}

    def save_model(self, request: HttpRequest, obj: Channel, form: object, change: bool) -> None:
        if not change and not is_owner(request.user):
            obj.owner = request.user  # type: ignore[assignment]
        super().save_model(request, obj, form, change)
