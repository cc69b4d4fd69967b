"""Webhook endpoints in the console: the list, the page of one, and its form."""

import json
from functools import partial
from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.forms import ModelForm
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import path, reverse
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.admin import ModelAdmin
from unfold.views import ChangeList

from kilit.access.scopes import scope_names
from kilit.console.formatting import ago, column, new_key, two_lines
from outbox.admin import endpoint_actions
from outbox.admin.columns import site_name
from outbox.admin.endpoint_forms import EndpointForm
from outbox.admin.endpoint_health import count_link, fetch_health
from outbox.admin.endpoint_page import overview, state_badges
from outbox.admin.endpoint_permissions import endpoint_of, may_manage, may_manage_any
from outbox.endpoints import record_change
from outbox.models import Endpoint
from outbox.models.endpoint import EndpointQuerySet
from outbox.states import MessageStatus

COPY_NOW = gettext_lazy("Copy the signing secret now; it cannot be viewed again:")
ONE_BUTTON = {"show_save_and_continue": False, "show_save_and_add_another": False}


class EndpointChangeList(ChangeList):
    """Fetches the health and the names of the sites for all endpoints of a page at once."""

    result_list: Any

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        self.result_list, names = list(self.result_list), scope_names()
        fetch_health(self.result_list)
        for endpoint in self.result_list:
            endpoint.site_name = names.get(endpoint.scope, endpoint.scope)


def _name(endpoint: Endpoint) -> SafeString:
    return two_lines(str(endpoint), endpoint.shown_url if endpoint.description else "")


def _events(endpoint: Endpoint) -> str:
    return ", ".join(endpoint.kinds) or _("callbacks only")


name = column("name", gettext_lazy("endpoint"), _name)
site = column("site", gettext_lazy("site"), site_name)
events = column("events", gettext_lazy("events"), _events)
state = column("state", gettext_lazy("state"), state_badges)
delivered = column("delivered", gettext_lazy("last delivery"), lambda row: ago(row.health.delivered_at))
waiting = column("waiting", gettext_lazy("waiting"), lambda row: count_link(row, row.health.waiting))
failed = column("failed", gettext_lazy("failed"), lambda row: count_link(row, row.health.failed, MessageStatus.FAILED))


@admin.register(Endpoint)
class EndpointAdmin(ModelAdmin):
    form = EndpointForm
    list_display = [name, state, site, events, delivered, waiting, failed]
    list_filter = ["is_on"]
    list_per_page = 50
    search_fields = ["description"]
    search_help_text = gettext_lazy("A part of the description")
    actions = None
    add_fields = ["url", "description", "kinds", "scope"]

    # What is shown

    def get_queryset(self, request: HttpRequest) -> EndpointQuerySet:
        rows: EndpointQuerySet = super().get_queryset(request)
        return rows.visible_to(request.user)

    def get_changelist(self, request: HttpRequest, **options: object) -> type[EndpointChangeList]:
        return EndpointChangeList

    def change_view(self, request: HttpRequest, object_id: str, *args: object, **options: object) -> HttpResponse:
        endpoint = endpoint_of(self, request, object_id)
        if request.method not in ("GET", "HEAD"):
            raise PermissionDenied
        return overview(self, request, endpoint)

    def settings_page(self, request: HttpRequest, object_id: str) -> HttpResponse:
        endpoint_of(self, request, object_id, allowed=may_manage)
        return super().change_view(request, object_id, extra_context=ONE_BUTTON)

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> HttpResponse:
        return super().add_view(request, form_url, {**(extra_context or {}), **ONE_BUTTON})

    def delete_view(self, request: HttpRequest, object_id: str, extra_context: object = None) -> HttpResponse:
        endpoint_of(self, request, object_id)
        return super().delete_view(request, object_id, extra_context)

    def history_view(self, request: HttpRequest, object_id: str, extra_context: object = None) -> HttpResponse:
        """Lead to the activity, where changes are recorded for those who see the endpoint."""
        endpoint = endpoint_of(self, request, object_id)
        filters = {"site": endpoint.scope} if endpoint.scope else None
        return HttpResponseRedirect(reverse("admin:lock_activity_changelist", query=filters))

    def get_urls(self) -> list[object]:
        pages: list[tuple[str, str, Any]] = [
            ("settings", "settings/", EndpointAdmin.settings_page),
            ("switch_on", "switch-on/", endpoint_actions.switch_on),
            ("switch_off", "switch-off/", endpoint_actions.switch_off),
            ("rotate_secret", "rotate-secret/", endpoint_actions.rotate_secret),
            ("send_test", "send-test/", endpoint_actions.send_test_page),
            ("replay", "replay/", endpoint_actions.replay_page),
        ]
        wrap = self.admin_site.admin_view
        own = [
            path(f"<path:object_id>/{route}", wrap(partial(view, self)), name=f"outbox_endpoint_{name}")
            for name, route, view in pages
        ]
        return own + super().get_urls()

    # What may be changed

    def has_add_permission(self, request: HttpRequest) -> bool:
        return self._may_add(request)

    def has_change_permission(self, request: HttpRequest, obj: Endpoint | None = None) -> bool:
        return self._may_add(request) if obj is None else may_manage(request.user, obj)

    def _may_add(self, request: HttpRequest) -> bool:
        """Ask the database once a request; the sidebar of every page asks several times."""
        answers: dict[str, bool] = request.__dict__.setdefault("may_act_in", {})
        if self.opts.label_lower not in answers:
            answers[self.opts.label_lower] = may_manage_any(request.user)
        return answers[self.opts.label_lower]

    def has_delete_permission(self, request: HttpRequest, obj: Endpoint | None = None) -> bool:
        """Delete only what has no messages: their pages show the endpoint, and they are pruned on their own."""
        return obj is not None and may_manage(request.user, obj) and not obj.messages.exists()

    def get_fields(self, request: HttpRequest, obj: Endpoint | None = None) -> list[str]:
        return self.add_fields[:-1] if obj else self.add_fields  # its messages keep the site

    def get_form(
        self, request: HttpRequest, obj: Endpoint | None = None, change: bool = False, **options: object
    ) -> Any:
        form = super().get_form(request, obj, change, **options)
        form.user = request.user
        return form

    def save_model(self, request: HttpRequest, obj: Endpoint, form: ModelForm[Endpoint], change: bool) -> None:
        """Create the secret of a new endpoint, and show it once; save only what was changed on the page."""
        if change:
            obj.save(update_fields=form.changed_data)
            return
        secret = obj.make_secret()
        obj.save()
        messages.warning(request, new_key(str(COPY_NOW), secret))

    def response_add(self, request: HttpRequest, obj: Endpoint, post_url_continue: object = None) -> HttpResponse:
        return HttpResponseRedirect(endpoint_actions.page_of(obj))

    def response_change(self, request: HttpRequest, obj: Endpoint) -> HttpResponse:
        messages.success(request, _("Saved."))
        return HttpResponseRedirect(endpoint_actions.page_of(obj))

    # Changes are recorded with their site, so that its members see them. Values, which may be secret, are not.

    def log_addition(self, request: HttpRequest, obj: Endpoint, message: object) -> None:
        record_change(obj, "added")

    def log_change(self, request: HttpRequest, obj: Endpoint, message: object) -> None:
        record_change(obj, "changed", message if isinstance(message, str) else json.dumps(message))

    def log_deletions(self, request: HttpRequest, queryset: Any) -> None:
        for endpoint in queryset:
            record_change(endpoint, "deleted")
