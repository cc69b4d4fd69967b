"""Webhook endpoints in the console: the list, the page of one, and its form."""

import json
from collections.abc import Iterator
from functools import partial
from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.db.models import Q
from django.forms import ModelForm
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from kilit.api.webhooks import kinds_beyond, webhook_kinds
from kilit.batches.filters import FilterSet, KindFilter
from kilit.console import formatting
from kilit.console.formatting import badge, breakable, column, exactly, find_object, link, number, two_lines
from kilit.console.jobs.job_page import JobOffer
from kilit.console.lists.fields import choice_field, choices_field
from kilit.console.lists.listing import ListAdmin, RowPage
from kilit.outgoing.urls import InvalidUrl
from kilit.sites.scopes import INSTALLATION, scope_choices, scopes_run_by
from kilit.spans import ago, moment
from outbox.admin import endpoint_actions
from outbox.admin import messages as columns
from outbox.admin.messages import ON_OR_OFF
from outbox.blockers import endpoint_reasons
from outbox.endpoints import MOST_COUNTED, fetch_health, record_change
from outbox.models import Endpoint, OutboxMessage
from outbox.models.endpoint import EndpointQuerySet, OffReason, check_url
from outbox.states import MessageStatus

NEWEST = 10
STATES = KindFilter(
    name="status",
    title=gettext_lazy("state"),
    kinds={**ON_OR_OFF, "failing": (gettext_lazy("Failing"), Q(is_on=True, failing_since__isnull=False))},
)


class EndpointForm(ModelForm[Endpoint]):
    user: Any = None  # set by the admin, for each request

    scope = choice_field(
        gettext_lazy("Site"),
        required=False,
        attrs={"data-choose": ""},
        help_text=gettext_lazy("Events of this site are reported. This cannot be changed later."),
    )
    kinds = choices_field(
        gettext_lazy("Events"),
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


def page_of(endpoint: Endpoint, name: str = "change") -> str:
    return reverse(f"admin:outbox_endpoint_{name}", args=[endpoint.pk])


def capped(count: int) -> str:
    return number(count) if count <= MOST_COUNTED else _("more than %(most)s") % {"most": number(MOST_COUNTED)}


def list_address(endpoint: Endpoint, status: str = "") -> str:
    filters = {"endpoint": str(endpoint.pk), **({"status": status} if status else {})}
    return reverse("admin:outbox_outboxmessage_changelist", query=filters)


def state_badges(endpoint: Endpoint) -> SafeString:
    if not endpoint.is_on:
        return badge(_("off"), "danger", title=str(OffReason(endpoint.off_reason).label))
    is_on = badge(_("on"), "success")
    if not endpoint.failing_since:
        return is_on
    since = _("Since %(time)s") % {"time": exactly(endpoint.failing_since)}
    return format_html("{} {}", is_on, badge(_("failing"), "warning", title=since))


def _offers(endpoint: Endpoint, *, may_delete: bool) -> Iterator[JobOffer]:
    """Yield what the menu offers beside the buttons."""
    if endpoint.is_on:
        yield JobOffer(_("Replay a time span"), page_of(endpoint, "replay"))
    yield JobOffer(_("Rotate the secret"), page_of(endpoint, "rotate_secret"))
    if endpoint.is_on:
        yield JobOffer(_("Switch off"), page_of(endpoint, "switch_off"))
    if may_delete:
        yield JobOffer(_("Delete"), page_of(endpoint, "delete"), is_dangerous=True)


def _tiles(endpoint: Endpoint, health: Any) -> list[tuple[str, str, str, bool]]:
    """Return numbers with their labels, where they lead, and whether there is something."""
    delivered = ago(health.delivered_at) if health.delivered_at else ""
    tiles = [
        (_("Waiting"), "", capped(health.waiting), health.waiting),
        (_("Failed"), MessageStatus.FAILED, capped(health.failed), health.failed),
        (_("Last delivery"), MessageStatus.DELIVERED, delivered or "–", delivered),
    ]
    return [(label, text, list_address(endpoint, state), bool(some)) for label, state, text, some in tiles]


def _facts(endpoint: Endpoint, *, manages: bool) -> Iterator[tuple[str, object]]:
    # The query of an address may be secret: it is for those who may change it.
    yield _("Address"), breakable(endpoint.url if manages else endpoint.shown_url)
    yield _("Site"), columns.site_name(endpoint)
    yield _("Signing secret"), _("Encrypted; it cannot be viewed again.")
    if endpoint.previous_until and endpoint.previous_until > timezone.now():
        yield _("Previous secret"), _("Signs too, until %(time)s.") % {"time": moment(endpoint.previous_until)}
    yield _("Created"), exactly(endpoint.created_at)


def _line(message: OutboxMessage) -> dict[str, object]:
    href = reverse("admin:outbox_outboxmessage_change", args=[message.pk])
    return {
        _("Message"): link(href, columns.row_name(message)),
        _("State"): columns.state(message),
        _("Attempts"): message.attempt_count,
        _("Error"): columns.error(message),
        _("Created"): exactly(message.created_at),
    }


def count_column(name: str, label: Any, status: str = "") -> Any:
    def show(row: Any) -> SafeString | str:
        count = getattr(row.health, name)
        return link(list_address(row, status), capped(count)) if count else "0"

    return column(name, label, show, sort_key=lambda row: getattr(row.health, name))


name = column(
    "name", gettext_lazy("endpoint"), lambda row: two_lines(str(row), row.shown_url if row.description else "")
)
site = column("site", gettext_lazy("site"), columns.site_name)
events = column("events", gettext_lazy("events"), lambda row: ", ".join(row.kinds) or _("callbacks only"))
state = column("state", gettext_lazy("state"), state_badges)
delivered = column("delivered", gettext_lazy("last delivery"), lambda row: ago(row.health.delivered_at))
waiting_count = count_column("waiting", gettext_lazy("waiting"))
failed_count = count_column("failed", gettext_lazy("failed"), MessageStatus.FAILED)


def may_manage(user: Any, endpoint: Endpoint) -> bool:
    return Endpoint.objects.managed_by(user).filter(pk=endpoint.pk).exists()


@admin.register(Endpoint)
class EndpointAdmin(ListAdmin):
    menu = columns.WEBHOOKS_MENU.tab(0, gettext_lazy("Endpoints"))
    is_searched = True  # by Ctrl+K
    form = EndpointForm
    list_display = [name, state, site, events, delivered, waiting_count, failed_count]
    filters = FilterSet((STATES,))
    search_fields = ["description__words"]
    search_help_text = gettext_lazy("A word of the description")
    actions = None
    add_fields = ["url", "description", "kinds", "scope"]
    row_pages = {
        "settings": RowPage(lambda self, request, endpoint: self.settings_page(request, endpoint), "change"),
        "switch_on": RowPage(partial(endpoint_actions.switch_page, on=True), "change"),
        "switch_off": RowPage(partial(endpoint_actions.switch_page, on=False), "change"),
        "rotate_secret": RowPage(endpoint_actions.rotate_secret, "change"),
        "send_test": RowPage(endpoint_actions.send_test_page, "change", is_posted=True),
        "replay": RowPage(endpoint_actions.replay_page, "change"),
    }

    # What is shown

    def get_queryset(self, request: HttpRequest) -> EndpointQuerySet:
        rows: EndpointQuerySet = super().get_queryset(request)
        return rows.visible_to(request.user)

    def complete(self, rows: list[Any]) -> None:
        fetch_health(rows)
        columns.fetch_site_names(rows)

    def change_view(self, request: HttpRequest, object_id: str, *args: object, **options: object) -> HttpResponse:
        endpoint: Endpoint = find_object(self, request, object_id)
        if request.method not in ("GET", "HEAD"):
            raise PermissionDenied
        fetch_health([endpoint])
        manages = may_manage(request.user, endpoint)
        newest = OutboxMessage.objects.filter(endpoint=endpoint).defer("body").order_by("-id")[:NEWEST]
        may_delete = self.has_delete_permission(request, endpoint)
        return formatting.page(
            self,
            request,
            "admin/outbox/endpoint.html",
            title=str(endpoint),
            is_own_page=True,
            crumb_names_row=True,
            original=endpoint,
            state=state_badges(endpoint),
            site=columns.site_name(endpoint),
            blockers=list(endpoint_reasons(endpoint, newest.first())),
            tiles=_tiles(endpoint, endpoint.health),  # type: ignore[attr-defined]
            facts=list(_facts(endpoint, manages=manages)),
            kinds=[(name, webhook_kinds[name].about if name in webhook_kinds else "") for name in endpoint.kinds],
            newest=[_line(message) for message in newest],
            manages=manages,
            offers=list(_offers(endpoint, may_delete=may_delete)),
        )

    def settings_page(self, request: HttpRequest, endpoint: Endpoint) -> HttpResponse:
        return super().change_view(request, str(endpoint.pk))

    def delete_view(self, request: HttpRequest, object_id: str, extra_context: object = None) -> HttpResponse:
        find_object(self, request, object_id)
        return super().delete_view(request, object_id, extra_context)

    def history_view(self, request: HttpRequest, object_id: str, extra_context: object = None) -> HttpResponse:
        """Lead to the activity, where changes are recorded for those who see the endpoint."""
        endpoint: Endpoint = find_object(self, request, object_id)
        filters = {"site": endpoint.scope} if endpoint.scope else None
        return HttpResponseRedirect(reverse("admin:lock_activity_changelist", query=filters))

    # What may be changed

    def has_change_permission(self, request: HttpRequest, obj: Endpoint | None = None) -> bool:
        return self.has_add_permission(request) if obj is None else may_manage(request.user, obj)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Ask the database once a request; a page asks several times."""
        permissions: dict[str, bool] = request.__dict__.setdefault("may_act_in", {})
        if self.opts.label_lower not in permissions:
            may_operate = request.user.has_perm("outbox.operate_endpoint")
            permissions[self.opts.label_lower] = may_operate and scopes_run_by(request.user) != []
        return permissions[self.opts.label_lower]

    def has_delete_permission(self, request: HttpRequest, obj: Endpoint | None = None) -> bool:
        """Delete only what has no messages: their pages show the endpoint, and they are pruned on their own."""
        return obj is not None and may_manage(request.user, obj) and not obj.messages.exists()

    def get_fields(self, request: HttpRequest, obj: Endpoint | None = None) -> list[str]:
        return self.add_fields[:-1] if obj else self.add_fields  # its messages keep the site

    def get_form(self, request: HttpRequest, *args: Any, **options: Any) -> Any:
        form = super().get_form(request, *args, **options)
        form.user = request.user
        return form

    def save_model(self, request: HttpRequest, obj: Endpoint, form: ModelForm[Endpoint], change: bool) -> None:
        """Create the secret of a new endpoint, and show it once; save only what was changed on the page."""
        if change:
            Endpoint.objects.filter(pk=obj.pk).change(**{name: getattr(obj, name) for name in form.changed_data})
            return
        secret = obj.make_secret()
        obj.save()
        sentence = _("Copy the signing secret now; it cannot be viewed again:")
        messages.warning(request, formatting.new_key(sentence, secret))

    def response_add(self, request: HttpRequest, obj: Endpoint, post_url_continue: object = None) -> HttpResponse:
        return HttpResponseRedirect(page_of(obj))

    def response_change(self, request: HttpRequest, obj: Endpoint) -> HttpResponse:
        messages.success(request, _("Saved."))
        return HttpResponseRedirect(page_of(obj))

    # Changes are recorded with their site, so that its members see them. Values, which may be secret, are not.

    def log_addition(self, request: HttpRequest, obj: Endpoint, message: object) -> None:
        record_change(obj, "added")

    def log_change(self, request: HttpRequest, obj: Endpoint, message: object) -> None:
        record_change(obj, "changed", message if isinstance(message, str) else json.dumps(message))

    def log_deletions(self, request: HttpRequest, queryset: Any) -> None:
        for endpoint in queryset:
            record_change(endpoint, "deleted")
