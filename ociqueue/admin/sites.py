"""Sites in the console: their health, pause, members and sender."""

from functools import partial
from typing import Any

from django.contrib import admin
from django.contrib.admin.utils import unquote
from django.core.exceptions import ValidationError
from django.db.models import F, QuerySet, Value
from django.db.models.functions import Concat, Now
from django.forms import ModelForm
from django.http import HttpRequest, HttpResponse
from django.urls import path, reverse
from django.utils.html import format_html_join
from django.utils.safestring import SafeString
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.admin import ModelAdmin, TabularInline
from unfold.views import ChangeList

from kilit.access.roles import Role, actor_of
from kilit.console.formatting import ago, badge, button, column, link, number, two_lines
from kilit.postgres.collation import NameOrder
from ociqueue.admin import circuits, credentials, keys, pauses
from ociqueue.admin.permissions import may_administer, may_run
from ociqueue.models import Site, SiteMembership
from ociqueue.models.site import KEYS_USER_PREFIX
from ociqueue.site_health import SiteHealth, site_health
from ociqueue.states import ConversionStatus, SyncMethod

# Whether and by whom conversions are sent; an older page must not undo a change of these.
SENDING = ("sync_method", "is_paused", "pause_reason")
PAUSE = ("is_paused", "pause_reason")
SETTINGS = ("name", "time_zone", "default_currency", "sync_method", "requeue_transient")
KNOWN = ("public_id", "last_export_at", "last_ack_at", "created_at")


class SiteForm(ModelForm[Site]):
    """Remembers what it showed: a page stays open for hours, and another user may have paused the site since."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        for field in self.fields.values():
            field.show_hidden_initial = True

    def clean(self) -> dict[str, Any] | None:
        """Reject a change of pause or sender if another user changed them since the page was opened."""
        cleaned = super().clean()
        if set(SENDING) & set(self.changed_data) and self._is_old():
            raise ValidationError(
                _(
                    "Nothing was saved: another user changed the pause or the sender of this site after you opened the "
                    "page. Open it again and repeat your change if it is still needed."
                )
            )
        if cleaned and "is_paused" in self.changed_data and not cleaned["is_paused"]:
            cleaned["pause_reason"] = ""  # the history keeps it
        return cleaned

    def _is_old(self) -> bool:
        # Locked until it is saved, so that a concurrent change comes before this query or after the save.
        now = Site.objects.select_for_update().get(pk=self.instance.pk)
        sent = {name: self.data.get(self[name].html_initial_name) for name in SENDING if name in self.fields}
        return any(self.fields[name].to_python(value) != getattr(now, name) for name, value in sent.items())


class MembershipInline(TabularInline):
    model = SiteMembership
    autocomplete_fields = ["user"]
    extra = 0
    hide_title = True
    readonly_fields = ["person"]
    verbose_name, verbose_name_plural = gettext_lazy("person"), gettext_lazy("people")

    @admin.display(description=gettext_lazy("user"))
    def person(self, membership: SiteMembership) -> str:
        return membership.user.get_username()

    def get_fields(self, request: HttpRequest, obj: Site | None = None) -> list[str]:
        return ["user", "role"] if self.has_change_permission(request, obj) else ["person", "role"]

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **options: Any) -> Any:
        """Name each field for screen readers: the table header is not its label."""
        field = super().formfield_for_dbfield(db_field, request, **options)
        if field:
            inner = getattr(field.widget, "widget", field.widget)
            inner.attrs.setdefault("aria-label", capfirst(str(field.label)))
        return field

    def get_queryset(self, request: HttpRequest) -> QuerySet[SiteMembership]:
        """Hide the user who owns the site's keys: without its membership the keys do not work."""
        keys_user = Concat(Value(KEYS_USER_PREFIX), F("site__public_id"))
        return super().get_queryset(request).exclude(user__username=keys_user).select_related("user")  # type: ignore[no-any-return]

    def has_add_permission(self, request: HttpRequest, obj: Site | None = None) -> bool:
        return obj is not None and may_administer(request.user, obj)

    has_change_permission = has_delete_permission = has_add_permission


class SiteChangeList(ChangeList):
    """Fetches the health of all sites of a page at once."""

    result_list: Any

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        self.result_list = list(self.result_list)
        found = site_health(self.result_list)
        for site in self.result_list:
            site.health = found[site.pk]


waiting = column("waiting", gettext_lazy("waiting"), lambda site: number(site.health.waiting))
stuck = column("stuck", gettext_lazy("stuck"), lambda site: number(site.health.stuck))


@admin.register(Site)
class SiteAdmin(ModelAdmin):
    list_display = ["site", "state", "alarms", waiting, "failed", stuck, "sender"]
    list_filter = ["sync_method", "is_paused"]
    list_per_page = 50
    search_fields = ["name", "=public_id"]
    search_help_text = gettext_lazy("A name, or a whole public id")
    fieldsets = [
        (None, {"fields": [*SETTINGS, "public_id"]}),
        (gettext_lazy("Pause"), {"fields": list(PAUSE)}),
        (gettext_lazy("Script"), {"fields": ["last_export_at", "last_ack_at", "created_at"]}),
    ]
    add_fieldsets = [(None, {"fields": list(SETTINGS)})]
    inlines = [MembershipInline]
    actions = None
    actions_detail = ["ads_script", "credentials", "circuit"]
    change_form_outer_before_template = "admin/ociqueue/site_uploads.html"

    # What is shown

    def get_queryset(self, request: HttpRequest) -> QuerySet[Site]:
        return super().get_queryset(request).filter(pk__in=Site.objects.seen_by(request.user).values("pk"))  # type: ignore[no-any-return]

    def get_ordering(self, request: HttpRequest) -> list[Any]:
        return [NameOrder("name").asc()]

    def get_changelist(self, request: HttpRequest, **options: Any) -> type[SiteChangeList]:
        return SiteChangeList

    @admin.display(description=gettext_lazy("site"), ordering=NameOrder("name"))
    def site(self, site: Site) -> SafeString:
        return two_lines(site.name, site.public_id)

    @admin.display(description=gettext_lazy("state"))
    def state(self, site: Site) -> SafeString:
        if site.is_paused:
            return badge(_("paused"), "warning", title=site.pause_reason)
        return badge(_("running"), "success")

    @admin.display(description=gettext_lazy("failed"))
    def failed(self, site: Site) -> SafeString:
        filters = {"site": site.pk, "status": ConversionStatus.FAILED}
        address = reverse("admin:ociqueue_conversion_changelist", query=filters)
        return link(address, number(health(site).totals[ConversionStatus.FAILED]))

    @admin.display(description=gettext_lazy("sent by"), ordering="sync_method")
    def sender(self, site: Site) -> SafeString:
        if site.sync_method == SyncMethod.API:
            return circuits.sender_cell(health(site))
        export = _("script, export %(when)s") % {"when": ago(site.last_export_at)}
        return two_lines(export, _("ack %(when)s") % {"when": ago(site.last_ack_at)})

    @admin.display(description=gettext_lazy("alarms"))
    def alarms(self, site: Site) -> SafeString:
        shown, alarms = health(site), []
        if shown.is_alarming:
            rate = _("errors %(percent)s%%") % {"percent": f"{(shown.error_rate or 0) * 100:.0f}"}
            alarms.append(badge(rate, "danger", title=_("Of conversions finished in the last 24 hours")))
        if shown.is_silent:
            why = _("Rows wait, and the script has not called for 24 hours")
            alarms.append(badge(_("script silent"), "danger", title=why))
        alarms += circuits.alarms(site, shown)
        return format_html_join(" ", "{}", ((alarm,) for alarm in alarms)) or SafeString("-")

    def change_view(self, request: HttpRequest, object_id: str, *args: Any, **options: Any) -> HttpResponse:
        site = self.get_object(request, unquote(object_id))
        options["extra_context"] = circuits.sending_context(site, request) if site else {}
        return super().change_view(request, object_id, *args, **options)  # type: ignore[no-any-return]

    # What may be changed

    def has_change_permission(self, request: HttpRequest, obj: Site | None = None) -> bool:
        if obj is None:
            return request.user.has_perm("ociqueue.change_site") or request.user.has_perm("ociqueue.operate_site")
        return may_administer(request.user, obj) or may_run(request.user, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Site | None = None) -> bool:
        return False  # its history refers to it

    def get_readonly_fields(self, request: HttpRequest, obj: Site | None = None) -> list[str]:
        return [*KNOWN] if obj is None or may_administer(request.user, obj) else [*KNOWN, *SETTINGS]

    def get_form(self, request: HttpRequest, obj: Site | None = None, change: bool = False, **options: Any) -> Any:  # noqa: FBT001, FBT002
        return super().get_form(request, obj, change, **(options | ({"form": SiteForm} if obj else {})))

    def get_inlines(self, request: HttpRequest, obj: Site | None) -> list[type[MembershipInline]]:
        """A new site has one member: the user who adds it."""
        return [MembershipInline] if obj else []

    def save_model(self, request: HttpRequest, obj: Site, form: ModelForm[Site], change: bool) -> None:  # noqa: FBT001
        """Save only what was changed on the page; the user who adds a site becomes its admin."""
        if change:
            changed = set(form.changed_data)
            if changed & set(PAUSE):
                changed |= set(PAUSE)  # the form clears the reason when a pause ends
                if "is_paused" in form.changed_data:
                    obj.paused_at = Now() if obj.is_paused else None
                    obj.paused_by = actor_of(request.user) if obj.is_paused else ""
                    changed |= {"paused_at", "paused_by"}
                self.log_change(request, obj, f"Paused: {obj.pause_reason}" if obj.is_paused else "Resumed.")
            obj.save(update_fields=changed)
            return
        super().save_model(request, obj, form, change)
        SiteMembership.objects.create(site=obj, user=request.user, role=Role.ADMIN)  # type: ignore[misc]

    def construct_change_message(self, request: HttpRequest, form: Any, formsets: Any, add: bool = False) -> Any:  # noqa: FBT001, FBT002
        """Leave out the pause, which `save_model` has logged with its reason."""
        form.changed_data = [name for name in form.changed_data if name not in PAUSE]
        return super().construct_change_message(request, form, formsets, add)

    def log_change(self, request: HttpRequest, obj: Site, message: Any) -> Any:
        return super().log_change(request, obj, message) if message else None

    # Its sender

    @button(description=gettext_lazy("Ads Script and keys"), icon="code", url_path="ads-script")
    def ads_script(self, request: HttpRequest, object_id: str) -> HttpResponse:
        return keys.ads_script_page(self, request, object_id)

    @button(description=gettext_lazy("Credentials"), icon="passkey", url_path="credentials")
    def credentials(self, request: HttpRequest, object_id: str) -> HttpResponse:
        return credentials.credentials_page(self, request, object_id)

    @button(description=gettext_lazy("Circuit"), icon="electrical_services", url_path="circuit")
    def circuit(self, request: HttpRequest, object_id: str) -> HttpResponse:
        return circuits.circuit_page(self, request, object_id)

    def get_actions_detail(self, request: HttpRequest, object_id: str) -> list[Any]:
        site = self.get_object(request, unquote(object_id))
        hidden = "" if site and site.sync_method == SyncMethod.API else "ociqueue_site_circuit"
        return [offered for offered in super().get_actions_detail(request, object_id) if offered.action_name != hidden]

    def get_urls(self) -> list[Any]:
        pages: list[tuple[str, str, Any]] = [
            ("issue_key", "ads-script/issue-key/", keys.issue_key),
            ("revoke_key", "ads-script/revoke-key/<int:key>/", keys.revoke_key),
            ("check_credentials", "credentials/check/", credentials.request_check),
            ("probe", "circuit/probe/", circuits.probe_now),
            ("resume", "resume/", pauses.resume),
        ]
        wrap = self.admin_site.admin_view
        own = [
            path(f"<path:object_id>/{route}", wrap(partial(view, self)), name=f"ociqueue_site_{name}")
            for name, route, view in pages
        ]
        return own + super().get_urls()  # type: ignore[no-any-return]


def health(site: Site) -> SiteHealth:
    return site.health  # type: ignore[attr-defined,no-any-return]
