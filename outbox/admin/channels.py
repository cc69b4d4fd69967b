"""Alert channels in the console: users manage their own, owners all."""

from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.safestring import SafeString
from django.utils.translation import get_language, gettext_lazy
from django.utils.translation import gettext as _
from unfold.admin import ModelAdmin

from kilit.access.roles import is_owner
from kilit.console.account.preferences import zone_of
from kilit.console.formatting import ago, badge, button, column, joined, page
from kilit.workers.models import Heartbeat
from outbox.admin.channel_forms import AlertRuleInline, ChannelForm
from outbox.alerts.addresses import shown_address
from outbox.alerts.making import send_test
from outbox.models import Channel


def _state(channel: Channel) -> SafeString:
    return badge(_("on"), "success") if channel.is_on else badge(_("off"))


def _result(channel: Channel) -> SafeString | str:
    if channel.error:
        return badge(_("failed"), "danger", title=channel.error)
    return _("sent %(when)s") % {"when": ago(channel.sent_at)} if channel.sent_at else _("nothing sent yet")


def _quiet(channel: Channel) -> str:
    if channel.quiet_from is None or channel.quiet_to is None:
        return "-"
    return f"{channel.quiet_from:%H:%M}–{channel.quiet_to:%H:%M}"


address = column("shown", gettext_lazy("address"), shown_address)
owner = column("of", gettext_lazy("owner"), lambda channel: str(channel.owner or _("Installation")))
state = column("state", gettext_lazy("state"), _state)
quiet = column("quiet", gettext_lazy("quiet hours"), _quiet)
result = column("result", gettext_lazy("last result"), _result)
outcome = column("outcome", gettext_lazy("last result"), lambda channel: joined(_result(channel), channel.error))


@admin.register(Channel)
class ChannelAdmin(ModelAdmin):
    list_display = ["name", address, owner, state, quiet, result]
    list_select_related = ["owner"]
    list_before_template = change_form_before_template = "admin/outbox/channel_intro.html"
    list_per_page = 50
    form = ChannelForm
    inlines = [AlertRuleInline]
    autocomplete_fields = ["owner"]
    actions = None
    actions_detail = ["test"]

    # Who may

    def get_queryset(self, request: HttpRequest) -> QuerySet[Channel]:
        return Channel.objects.managed_by(request.user)

    def has_module_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.has_perm("outbox.operate_channel"))

    def has_view_permission(self, request: HttpRequest, obj: Channel | None = None) -> bool:
        return self.has_module_permission(request)

    has_change_permission = has_view_permission

    def has_add_permission(self, request: HttpRequest) -> bool:
        return self.has_module_permission(request)

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
        mine = {"owner": request.user.pk, "language": get_language(), "time_zone": str(zone_of(request))}
        return {**mine, **super().get_changeform_initial_data(request)}

    def save_model(self, request: HttpRequest, obj: Channel, form: object, change: bool) -> None:
        if not change and not is_owner(request.user):
            obj.owner = request.user  # type: ignore[assignment]
        super().save_model(request, obj, form, change)

    # A test

    @button(description=gettext_lazy("Send a test"), icon="send", permissions=["change"], url_path="test")
    def test(self, request: HttpRequest, object_id: str) -> HttpResponse:
        channel = self.get_object(request, unquote(object_id))
        if channel is None:
            raise Http404
        if not self.has_change_permission(request, channel):
            raise PermissionDenied
        back = reverse("admin:outbox_channel_change", args=[channel.pk])
        if request.method == "POST":
            self._send_test(request, channel)
            return HttpResponseRedirect(back)
        return page(
            self,
            request,
            "admin/console/confirm.html",
            title=_("Send a test?"),
            sentences=[_("A short message is sent to %(address)s at once.") % {"address": shown_address(channel)}],
            original=channel,
            submit=_("Send a test"),
            back=back,
        )

    def _send_test(self, request: HttpRequest, channel: Channel) -> None:
        if not channel.is_on:
            messages.warning(request, _("The channel is off: switch it on first."))
            return
        with transaction.atomic():
            send_test(channel)
            self.log_change(request, channel, "Sent a test.")
        if Heartbeat.objects.alive().exists():
            messages.success(request, _("The test is on its way; reload the list to see the result."))
        else:
            messages.warning(request, _("The test waits until a worker is started."))
