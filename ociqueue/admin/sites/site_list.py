"""Sites in the console: the list, and the pages of one site."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from django.contrib import admin
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.forms import ModelForm
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import path, reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from kilit.access.roles import Role
from kilit.batches.filters import FilterSet, KindFilter
from kilit.console.formatting import ago, badge, button, column, find_object, link, number, two_lines
from kilit.console.lists.listing import ListAdmin
from kilit.console.templatetags.console import percent
from kilit.postgres.collation import NameOrder
from kilit.sites import operations as site_operations
from kilit.sites.models import SiteMembership
from ociqueue.admin.base.menu import SITES_MENU
from ociqueue.admin.base.site_header import header_context, list_of, may_administer, site_address
from ociqueue.admin.google import circuits, credentials, google_counts, switching
from ociqueue.admin.sites import bulk_files, keys, site_actions
from ociqueue.admin.sites.site_forms import (
    CONFIRM_SENDER,
    SENDER,
    MembershipInline,
    NewSiteForm,
    SiteForm,
    sender_choices,
)
from ociqueue.admin.sites.site_page import overview
from ociqueue.models import Site
from ociqueue.operating.senders import after_switch, record_switch
from ociqueue.operating.site_health import SiteHealth, site_health
from ociqueue.states import BY_API, UPLOADED_HERE, ConversionStatus, SyncMethod

SETTINGS = (
    *("name", "customer_id", "time_zone", "default_currency", "sync_method", "requeue_transient"),
    *("accepts_identifiers", "denied_consent"),
)
KNOWN = ("public_id", "last_export_at", "last_ack_at", "created_at")
MEMBERS = "ociqueue_site_members"


# Archived sites are listed only when they are asked for.
STATES = KindFilter(
    name="status",
    title=gettext_lazy("state"),
    kinds={
        "running": (gettext_lazy("Running"), Q(is_paused=False)),
        "paused": (gettext_lazy("Paused"), Q(is_paused=True, archived_at=None)),
        "archived": (gettext_lazy("Archived"), Q(archived_at__isnull=False)),
    },
    unless_set=Q(archived_at=None),
)
SENT_BY = KindFilter(
    name=SENDER,
    title=gettext_lazy("sent by"),
    kinds={
        **{str(sender): (label, Q(sync_method=sender)) for sender, label in SyncMethod.choices},
        BY_API: (gettext_lazy("Either API"), Q(sync_method__in=UPLOADED_HERE)),
    },
)


def _failed(site: Any) -> SafeString:
    count = site.health.totals[ConversionStatus.FAILED]
    return link(list_of(site, status=ConversionStatus.FAILED), number(count)) if count else SafeString("0")


waiting = column(
    "waiting",
    gettext_lazy("waiting"),
    lambda site: number(site.health.waiting),
    sort_key=lambda site: site.health.waiting,
)
failed = column(
    "failed", gettext_lazy("failed"), _failed, sort_key=lambda site: site.health.totals[ConversionStatus.FAILED]
)
stuck = column(
    "stuck", gettext_lazy("stuck"), lambda site: number(site.health.stuck), sort_key=lambda site: site.health.stuck
)


@admin.register(Site)
class SiteAdmin(ListAdmin):
    menu = SITES_MENU
    is_searched = True  # by Ctrl+K
    list_display = ["site", "state", "alarms", waiting, failed, stuck, "sender"]
    filters = FilterSet((STATES, SENT_BY))
    search_fields = ["name__words", "public_id", "customer_id__startswith"]
    search_help_text = gettext_lazy("A name, a customer id, or a public id")
    fieldsets = [
        (None, {"fields": [*SETTINGS, "public_id"]}),
        (gettext_lazy("Script"), {"fields": ["last_export_at", "last_ack_at", "created_at"]}),
    ]
    add_fieldsets = [(None, {"fields": list(SETTINGS)})]
    readonly_fields = KNOWN
    radio_fields = {SENDER: admin.VERTICAL}
    actions = ["pause_sites", "resume_sites", "archive_sites", "restore_sites"]
    actions_list = ["import_sites", "import_members"]
    change_form_template = "admin/ociqueue/site_form.html"

    # What is shown

    def get_queryset(self, request: HttpRequest) -> QuerySet[Site]:
        return super().get_queryset(request).filter(pk__in=Site.objects.seen_by(request.user).values("pk"))

    def commands(self, request: HttpRequest) -> Iterator[tuple[str, str]]:
        if self.has_operate_permission(request):
            yield _("Pause a site"), reverse("admin:ociqueue_site_changelist", query={"status": "running"})

    def get_ordering(self, request: HttpRequest) -> list[object]:
        return [NameOrder("name").asc()]

    def complete(self, rows: list[Any]) -> None:
        health_by_site = site_health(rows)
        for site in rows:
            site.health = health_by_site[site.pk]

    @admin.display(description=gettext_lazy("site"), ordering=NameOrder("name"))
    def site(self, site: Site) -> SafeString:
        return two_lines(site.name, site.customer or _("no customer id"))

    @admin.display(description=gettext_lazy("state"))
    def state(self, site: Site) -> SafeString:
        if site.archived_at:
            return badge(_("archived"), title=site.pause_reason)
        if site.is_paused:
            return badge(_("paused"), "warning", title=site.pause_reason)
        return badge(_("running"), "success")

    @admin.display(description=gettext_lazy("sent by"), ordering="sync_method")
    def sender(self, site: Site) -> SafeString:
        if site.sync_method in UPLOADED_HERE:
            return circuits.sender_cell(site, health(site))
        if site.last_export_at is None:
            return two_lines(_("script, has not run yet"), "")
        run = _("script, last run %(when)s") % {"when": ago(site.last_export_at)}
        return two_lines(run, _("last report %(when)s") % {"when": ago(site.last_ack_at)})

    @admin.display(description=gettext_lazy("alarms"))
    def alarms(self, site: Site) -> SafeString:
        shown, alarms = health(site), []
        if shown.is_alarming:
            rate = _("errors %(rate)s") % {"rate": percent(shown.error_rate or 0)}
            alarms.append(badge(rate, "danger", title=_("Of conversions finished in the last 24 hours")))
        if shown.is_silent:
            why = _("Rows wait, and the script has not called for 24 hours")
            alarms.append(badge(_("script silent"), "danger", title=why))
        if shown.is_test_failed:
            alarms.append(badge(_("connection test failed"), "danger", href=site_address(site, "credentials")))
        if shown.google_differs:
            alarms.append(badge(_("Google's counts differ"), "danger", href=site_address(site, "google_counts")))
        alarms += circuits.alarms(site, shown)
        badges = format_html_join("", "{}", ((alarm,) for alarm in alarms))
        return format_html('<span class="kilit-badges">{}</span>', badges) if alarms else SafeString("-")

    def get_search_results(self, request: HttpRequest, queryset: Any, search_term: str) -> Any:
        """Find customer ids with their dashes, too."""
        digits = search_term.replace("-", "")
        return super().get_search_results(request, queryset, digits if digits.isdecimal() else search_term)

    # What is done with many sites

    def has_operate_permission(self, request: HttpRequest) -> bool:
        return site_operations.PAUSE.may(request.user)

    @button(description=gettext_lazy("Import sites"), icon="upload", permissions=["archive"], url_path="import")
    def import_sites(self, request: HttpRequest) -> HttpResponse:
        return bulk_files.import_page(self, request, bulk_files.SITES)

    @button(
        description=gettext_lazy("Import members"), icon="group", permissions=["archive"], url_path="import-members"
    )
    def import_members(self, request: HttpRequest) -> HttpResponse:
        return bulk_files.import_page(self, request, bulk_files.MEMBERS)

    def has_archive_permission(self, request: HttpRequest) -> bool:
        return site_operations.ARCHIVE.may(request.user)

    @admin.action(description=gettext_lazy("Pause"), permissions=["operate"])
    def pause_sites(self, request: HttpRequest, queryset: QuerySet[Site]) -> HttpResponse:
        return site_actions.ask(self, request, site_actions.PAUSE, queryset.values_list("pk", flat=True))

    @admin.action(description=gettext_lazy("Resume"), permissions=["operate"])
    def resume_sites(self, request: HttpRequest, queryset: QuerySet[Site]) -> HttpResponse:
        return site_actions.ask(self, request, site_actions.RESUME, queryset.values_list("pk", flat=True))

    @admin.action(description=gettext_lazy("Archive"), permissions=["archive"])
    def archive_sites(self, request: HttpRequest, queryset: QuerySet[Site]) -> HttpResponse:
        return site_actions.ask(self, request, site_actions.ARCHIVE, queryset.values_list("pk", flat=True))

    @admin.action(description=gettext_lazy("Restore"), permissions=["archive"])
    def restore_sites(self, request: HttpRequest, queryset: QuerySet[Site]) -> HttpResponse:
        return site_actions.ask(self, request, site_actions.RESTORE, queryset.values_list("pk", flat=True))

    # The pages of one site

    def change_view(self, request: HttpRequest, object_id: str, *args: object, **options: object) -> HttpResponse:
        site = self.get_object(request, unquote(object_id))
        if site is None:
            return self._get_obj_does_not_exist_redirect(request, self.opts, object_id)
        if request.method not in ("GET", "HEAD") or not self.has_view_permission(request, site):
            raise PermissionDenied
        return overview(self, request, site)

    def form_page(self, request: HttpRequest, object_id: str, *, tab: str) -> HttpResponse:
        site: Site = find_object(self, request, object_id)
        return super().change_view(request, object_id, extra_context=header_context(request, site, tab=tab))

    def get_urls(self) -> list[object]:
        pages: list[tuple[str, str, Any]] = [
            ("settings", "settings/", partial(SiteAdmin.form_page, tab="settings")),
            ("members", "members/", partial(SiteAdmin.form_page, tab="members")),
            ("pause", "pause/", site_actions.pause),
            ("resume", "resume/", site_actions.resume),
            ("ads_script", "ads-script/", keys.ads_script_page),
            ("issue_key", "ads-script/issue-key/", keys.issue_key),
            ("revoke_key", "ads-script/revoke-key/<int:key>/", keys.revoke_key),
            ("copied_script", "ads-script/copied/", keys.note_copied),
            ("credentials", "credentials/", credentials.credentials_page),
            ("check_credentials", "credentials/check/", credentials.request_check),
            ("google_counts", "google-counts/", google_counts.counts_page),
            ("read_counts", "google-counts/read/", google_counts.request_reading),
            ("circuit", "circuit/", circuits.circuit_page),
            ("probe", "circuit/probe/", circuits.probe_now),
            ("switch", "switch/", switching.switch_page),
        ]
        wrap = self.admin_site.admin_view
        own = [
            path(f"<path:object_id>/{route}", wrap(partial(view, self)), name=f"ociqueue_site_{name}")
            for name, route, view in pages
        ]
        many = path("actions/", wrap(partial(site_actions.actions_page, self)), name="ociqueue_site_actions")
        export = path("export/<str:kind>/", wrap(bulk_files.export_file), name="ociqueue_site_export")
        return [many, export, *own, *super().get_urls()]

    def formfield_for_choice_field(self, db_field: Any, request: HttpRequest, **options: Any) -> Any:
        own = {"choices": sender_choices()} if db_field.name == SENDER else {}
        return super().formfield_for_choice_field(db_field, request, **(options | own))

    # What may be changed

    def has_change_permission(self, request: HttpRequest, obj: Site | None = None) -> bool:
        return request.user.has_perm("ociqueue.change_site") if obj is None else may_administer(request.user, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Site | None = None) -> bool:
        return False  # its history refers to it

    def get_fieldsets(self, request: HttpRequest, obj: Site | None = None) -> Any:
        if _is_members_page(request):
            return []
        fieldsets = super().get_fieldsets(request, obj)
        if obj is None or not self.has_change_permission(request, obj):
            return fieldsets
        (title, first), *others = fieldsets
        place = first["fields"].index(SENDER) + 1
        fields = [*first["fields"][:place], CONFIRM_SENDER, *first["fields"][place:]]
        return [(title, {**first, "fields": fields}), *others]

    def get_inlines(self, request: HttpRequest, obj: Site | None) -> list[type[MembershipInline]]:
        """A new site has one member: the user who adds it."""
        return [MembershipInline] if _is_members_page(request) else []

    def get_form(self, request: HttpRequest, obj: Site | None = None, change: bool = False, **options: Any) -> Any:
        own = {} if _is_members_page(request) else {"form": SiteForm if obj else NewSiteForm}
        form = super().get_form(request, obj, change, **(options | own))
        if obj is None:
            form.base_fields["name"].widget.attrs["autofocus"] = True
        return form

    def save_model(self, request: HttpRequest, obj: Site, form: ModelForm[Site], change: bool) -> None:
        """Save only what was changed on the page; the user who adds a site becomes its admin."""
        if change:
            obj.save(update_fields=form.changed_data)
            if SENDER in form.changed_data:
                record_switch(request.user, obj, before=form.initial[SENDER], open_rows=form.open_rows)  # type: ignore[attr-defined]
                after_switch(obj)
            return
        super().save_model(request, obj, form, change)
        SiteMembership.objects.create(site=obj, user=request.user, role=Role.ADMIN)  # type: ignore[misc]

    def response_post_save_add(self, request: HttpRequest, obj: Site) -> HttpResponse:
        page = "credentials" if obj.sync_method in UPLOADED_HERE else "ads_script"
        return HttpResponseRedirect(site_address(obj, page))

    def response_post_save_change(self, request: HttpRequest, obj: Site) -> HttpResponse:
        return HttpResponseRedirect(request.path)

    def log_change(self, request: HttpRequest, obj: Site, message: Any) -> Any:
        return super().log_change(request, obj, message) if message else None


def _is_members_page(request: HttpRequest) -> bool:
    return bool(request.resolver_match and request.resolver_match.url_name == MEMBERS)


def health(site: Site) -> SiteHealth:
    return site.health  # type: ignore[attr-defined]
