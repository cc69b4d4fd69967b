"""Sites in the console: the list, and the pages of one site."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.forms import ModelForm
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from kilit.access.roles import Role
from kilit.batches.filters import FilterSet, KindFilter
from kilit.console.formatting import badge, column, find_object, link, number, two_lines
from kilit.console.lists.listing import ListAdmin, ListLink, ListPage, RowPage
from kilit.postgres.collation import NameOrder
from kilit.sites import operations as site_operations
from kilit.sites.models import SiteMembership
from kilit.spans import ago
from ociqueue.admin.base.site_header import SITES_MENU, header_context, list_of, may_administer, may_run, site_address
from ociqueue.admin.google import circuits, credentials, google_counts
from ociqueue.admin.sites import bulk_files, site_actions, site_page
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
from ociqueue.problems.site_faults import site_faults
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


def count_column(name: str, label: Any, count: Callable[[Any], int]) -> Any:
    return column(name, label, lambda site: number(count(site)), sort_key=count)


def _failed(site: Any) -> int:
    return int(site.health.totals[ConversionStatus.FAILED])


waiting = count_column("waiting", gettext_lazy("waiting"), lambda site: site.health.waiting)
stuck = count_column("stuck", gettext_lazy("stuck"), lambda site: site.health.stuck)
failed = column(
    "failed",
    gettext_lazy("failed"),
    lambda site: link(list_of(site, status=ConversionStatus.FAILED), number(_failed(site))) if _failed(site) else "0",
    sort_key=_failed,
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
    actions = list(site_actions.ACTIONS.values())
    list_pages = {
        "actions": ListPage(site_actions.actions_page, permission="operate"),
        "export": ListPage(bulk_files.export_file, permission="change", route="export/<str:kind>"),
        "import_sites": ListPage(
            partial(bulk_files.import_page, bulk_files.SITES), gettext_lazy("Import sites"), "change", route="import"
        ),
        "import_members": ListPage(
            partial(bulk_files.import_page, bulk_files.MEMBERS), gettext_lazy("Import members"), "change"
        ),
    }
    change_form_template = "admin/ociqueue/site_form.html"
    row_pages = {
        "settings": RowPage(lambda self, request, site: self.form_page(request, site, tab="settings")),
        "members": RowPage(lambda self, request, site: self.form_page(request, site, tab="members")),
        "pause": RowPage(site_actions.pause, "operate", is_posted=True),
        "resume": RowPage(site_actions.resume, "operate", is_posted=True),
        "ads_script": RowPage(site_page.ads_script_page),
        "issue_key": RowPage(site_page.issue_key, "change", back="ads_script", route="ads-script/issue-key"),
        "revoke_key": RowPage(
            site_page.revoke_key, "change", back="ads_script", route="ads-script/revoke-key/<int:key>"
        ),
        "copied_script": RowPage(site_page.note_copied, "change", is_posted=True, route="ads-script/copied"),
        "credentials": RowPage(credentials.credentials_page, back="credentials"),
        "check_credentials": RowPage(
            credentials.request_check, "operate", is_posted=True, back="credentials", route="credentials/check"
        ),
        "google_counts": RowPage(google_counts.counts_page),
        "read_counts": RowPage(
            google_counts.request_reading, "operate", is_posted=True, back="google_counts", route="google-counts/read"
        ),
        "circuit": RowPage(circuits.circuit_page),
        "probe": RowPage(circuits.probe_now, "operate", is_posted=True, back="circuit", route="circuit/probe"),
    }

    # What is shown

    def get_queryset(self, request: HttpRequest) -> QuerySet[Site]:
        return super().get_queryset(request).filter(pk__in=Site.objects.seen_by(request.user).values("pk"))

    def commands(self, request: HttpRequest) -> Iterator[ListLink]:
        if self.has_operate_permission(request):
            yield ListLink(_("Pause a site"), reverse("admin:ociqueue_site_changelist", query={"status": "running"}))

    def get_ordering(self, request: HttpRequest) -> list[object]:
        return [NameOrder("name").asc()]

    def complete(self, rows: list[Any]) -> None:
        health_by_site = site_health(rows)
        for site in rows:
            site.health = health_by_site[site.pk]

    def findings(self, site: Site) -> list[str]:
        """Return what keeps a site from working, in sentences; `complete` has read how it is doing."""
        return [fault.blocker.sentence for fault in site_faults(site, health(site)) if fault.blocker]

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
        badges = [
            (badge(fault.label, "danger", title=fault.title, href=fault.href),)
            for fault in site_faults(site, health(site))
            if fault.label
        ]
        text = format_html_join("", "{}", badges)
        return format_html('<span class="kilit-badges">{}</span>', text) if badges else SafeString("-")

    def get_search_results(self, request: HttpRequest, queryset: Any, search_term: str) -> Any:
        """Find customer ids with their dashes, too."""
        digits = search_term.replace("-", "")
        return super().get_search_results(request, queryset, digits if digits.isdecimal() else search_term)

    # What is done with many sites

    def has_operate_permission(self, request: HttpRequest, obj: Site | None = None) -> bool:
        return site_operations.PAUSE.may(request.user) if obj is None else may_run(request.user, obj)

    # The pages of one site

    def change_view(self, request: HttpRequest, object_id: str, *args: object, **options: object) -> HttpResponse:
        site: Site = find_object(self, request, object_id)
        if request.method not in ("GET", "HEAD"):
            raise PermissionDenied
        return overview(self, request, site)

    def form_page(self, request: HttpRequest, site: Site, *, tab: str) -> HttpResponse:
        return super().change_view(request, str(site.pk), extra_context=header_context(request, site, tab=tab))

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
        form.requested_sender = request.GET.get(SENDER)
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
