"""The forms of a site's page: its settings and its members."""

from typing import Any

from django.contrib import admin
from django.core.exceptions import ValidationError
from django.db.models import F, QuerySet, Value
from django.db.models.functions import Concat
from django.forms import BaseInlineFormSet, BooleanField, HiddenInput, ModelForm
from django.http import HttpRequest
from django.utils.functional import cached_property
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.admin import TabularInline

from kilit.access.roles import Role, is_owner
from kilit.console.lists.fields import text_field
from kilit.sites.models import KEYS_USER_PREFIX, SiteMembership
from kilit.sites.people import people_seen_by
from ociqueue.admin.base.site_header import may_administer
from ociqueue.admin.google.circuits import SENDERS, confirmation, rows_in_flight
from ociqueue.models import Site
from ociqueue.models.credentials import check_customer_id
from ociqueue.operating.senders import unsettled_rows
from ociqueue.states import SyncMethod

SENDER = "sync_method"
CONFIRM_SENDER = "confirm_sender"


def sender_choices() -> list[tuple[str, Any]]:
    text = '<span class="kilit-choice"><b>{}</b><span class="text-subtle">{}</span></span>'
    return [(sender, format_html(text, sender.label, SENDERS[sender])) for sender in SyncMethod]


class NewSiteForm(ModelForm[Site]):
    customer_id = text_field(
        gettext_lazy("Customer id"), 20, required=False, help_text=Site._meta.get_field("customer_id").help_text
    )

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.initial["customer_id"] = self.instance.customer

    def clean_customer_id(self) -> str:
        try:
            return check_customer_id(self.instance, self.cleaned_data["customer_id"])
        except ValueError as error:
            raise ValidationError(str(error)) from None


class SiteForm(NewSiteForm):
    """Remembers what it showed: a page stays open for hours, and another user may have changed the sender since."""

    confirm_sender = BooleanField(required=False, label="", widget=HiddenInput)  # shown only if rows are open
    requested_sender: str | None = None  # by the link to the page

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        for field in self.fields.values():
            field.show_hidden_initial = True
        if SENDER in self.fields:
            said = [(_("If you change it:"),), *((sentence,) for sentence in rows_in_flight(self.instance))]
            self.fields[SENDER].help_text = format_html_join(SafeString("<br>"), "{}", said)
            if self.requested_sender in SyncMethod.values and not self.is_bound:
                self.data = {self.add_initial_prefix(SENDER): self.instance.sync_method}  # what is stored
                self.initial[SENDER] = self.requested_sender
        self.open_rows = unsettled_rows(self.instance)
        if self.open_rows:
            self.fields[CONFIRM_SENDER] = confirmation(self.instance, self.open_rows, _("Change the sender"))

    @cached_property
    def changed_data(self) -> list[str]:
        """Leave the confirmation out: it is no column of the site."""
        return [name for name in super().changed_data if name != CONFIRM_SENDER]

    def clean(self) -> dict[str, Any] | None:
        """Reject a change of the sender if another user changed it since the page was opened."""
        cleaned = super().clean()
        if SENDER in self.changed_data and self.open_rows and not self.cleaned_data.get(CONFIRM_SENDER):
            self.add_error(CONFIRM_SENDER, _("Rows are open. Tick the box to change the sender all the same."))
        if SENDER in self.changed_data and self._is_old():
            raise ValidationError(
                _("Nothing was saved: someone else changed the sender meanwhile. Open the page again.")
            )
        return cleaned

    def _is_old(self) -> bool:
        # Locked until it is saved, so that a concurrent change comes before this query or after the save.
        now = Site.objects.select_for_update().get(pk=self.instance.pk)
        return self.data.get(self[SENDER].html_initial_name) != now.sync_method


class MembershipFormSet(BaseInlineFormSet[SiteMembership, Site, Any]):
    """Leaves a site's admins to owners: other admins could otherwise remove each other."""

    is_by_owner = False

    def clean(self) -> None:
        super().clean()
        changed = [form for form in self.forms if form.has_changed() or form in self.deleted_forms]
        roles = {role for form in changed for role in (form.initial.get("role"), form.cleaned_data.get("role"))}
        if Role.ADMIN in roles and not self.is_by_owner:
            raise ValidationError(_("Only owners add, change and remove admins."))


class MembershipInline(TabularInline):
    model = SiteMembership
    formset = MembershipFormSet
    autocomplete_fields = ["user"]
    extra = 1
    hide_title = True
    readonly_fields = ["person"]
    verbose_name, verbose_name_plural = gettext_lazy("person"), gettext_lazy("people")

    @admin.display(description=gettext_lazy("user"))
    def person(self, membership: SiteMembership) -> str:
        return membership.user.get_username()

    def get_fields(self, request: HttpRequest, obj: Site | None = None) -> list[str]:
        return ["user", "role"] if self.has_change_permission(request, obj) else ["person", "role"]

    def get_formset(self, request: HttpRequest, obj: Site | None = None, **options: Any) -> Any:
        formset = super().get_formset(request, obj, **options)
        formset.is_by_owner = is_owner(request.user)
        return formset

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **options: object) -> object:
        """Offer only people whom the user knows: a membership in one's own sites is a step towards their password."""
        if db_field.name == "user":
            options["queryset"] = people_seen_by(request.user)
        return super().formfield_for_foreignkey(db_field, request, **options)

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **options: object) -> object:
        """Name each field for screen readers: the table header is not its label."""
        field = super().formfield_for_dbfield(db_field, request, **options)
        if field:
            inner = getattr(field.widget, "widget", field.widget)
            inner.attrs.setdefault("aria-label", capfirst(str(field.label)))
        return field

    def get_queryset(self, request: HttpRequest) -> QuerySet[SiteMembership]:
        """Hide the user who owns the site's keys: without its membership the keys do not work."""
        keys_user = Concat(Value(KEYS_USER_PREFIX), F("site__public_id"))
        return super().get_queryset(request).exclude(user__username=keys_user).select_related("user")

    def has_add_permission(self, request: HttpRequest, obj: Site | None = None) -> bool:
        return obj is not None and may_administer(request.user, obj)

    has_change_permission = has_delete_permission = has_add_permission
