"""A site's Google Ads credentials in the console: stored, tested, and never shown.

A secret is not sent back to the page either, so after a fault its field is empty although it was filled in. The form
remembers which, and asks for them: an empty field would keep the old secret, unnoticed.
"""

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.core.validators import RegexValidator
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.admin import ModelAdmin
from unfold.widgets import UnfoldAdminFileFieldWidget, UnfoldAdminPasswordWidget, UnfoldAdminTextareaWidget

from kilit.console.lists.fields import choices_field, text_field
from kilit.workers.models import Heartbeat
from ociqueue.admin.base.site_header import may_administer, site_address, site_page
from ociqueue.admin.google.circuits import confirmation
from ociqueue.models import Credentials, Site
from ociqueue.models.credentials import LONGEST, GoogleAdsAccount, normalize_customer_id
from ociqueue.operating.login_changes import (
    LABELS,
    OAUTH,
    REMOVABLE,
    REQUIRED,
    SERVICE_ACCOUNT,
    LoginChange,
    describe,
    read_actions,
    request_test,
    store_login,
    stored_login,
    stored_parts,
)
from ociqueue.operating.senders import unsettled_rows
from ociqueue.states import UPLOADED_HERE

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise


FILE = "service_account_file"
CONFIRM = "confirm_move"
# Their fields are empty when the page is shown again.
SECRETS = ("client_secret", "refresh_token", SERVICE_ACCOUNT, "developer_token")


# Sent in HTTP headers: a pasted quotation mark would break every upload.
printable = RegexValidator(r"^[!-~]*$", gettext_lazy("Only printable ASCII characters, without spaces."))


def _login_field(help_text: "StrOrPromise", most: int = 500, **options: Any) -> forms.CharField:
    return text_field("", most, required=False, help_text=help_text, **options)


def _secret(help_text: "StrOrPromise") -> forms.CharField:
    attrs = {"autocomplete": "new-password"}
    return _login_field(help_text, 2000, widget=UnfoldAdminPasswordWidget, attrs=attrs, validators=[printable])


class SecretTextarea(UnfoldAdminTextareaWidget):
    """A text of several lines that is not sent back to the page."""

    def format_value(self, value: object) -> str:
        return ""


class LoginForm(forms.Form):
    customer_id = _login_field(
        gettext_lazy("The account that owns the conversions, such as 123-456-7890."),
        attrs={"placeholder": "123-456-7890"},
    )
    login_customer_id = _login_field(gettext_lazy("Only for access through a manager account: the manager's id."))
    client_id = _login_field(gettext_lazy("The OAuth client in your Google Cloud project."))
    client_secret = _secret(gettext_lazy("The secret of the same client."))
    refresh_token = _secret(gettext_lazy("Issued by Google when the client was granted access to the account."))
    service_account = _login_field(
        gettext_lazy("The whole JSON of its key, as Google created it."),
        LONGEST,
        widget=SecretTextarea,
        attrs={"rows": 3},
    )
    service_account_file = forms.FileField(
        label=gettext_lazy("Or its file"), required=False, widget=UnfoldAdminFileFieldWidget(attrs={"accept": ".json"})
    )
    developer_token = _secret(gettext_lazy("Only for the Google Ads API, and only if Google requires it."))
    conversion_action = _login_field(
        gettext_lazy("Its number, or customers/1234567890/conversionActions/NUMBER. Enter the customer id as well.")
    )
    conversion_actions = _login_field(
        gettext_lazy(
            "One per line: conversion name = action. Other names use the conversion action above. "
            "This replaces all stored lines; enter the customer id as well."
        ),
        20_000,
        widget=UnfoldAdminTextareaWidget,
        attrs={"rows": 3, "placeholder": "Teklif = 987654"},
    )
    forget = choices_field(gettext_lazy("Remove stored values"))

    def __init__(
        self,
        *args: Any,
        stored: GoogleAdsAccount | None,
        confirmation: forms.BooleanField | None = None,
        **options: Any,
    ) -> None:
        super().__init__(*args, **options)
        self.stored = asdict(stored) if stored else {}
        for name, label in LABELS.items():
            self.fields[name].label = label
        if confirmation and stored:  # another account needs it
            self.fields[CONFIRM] = confirmation
        removable = [(name, LABELS[name]) for name in REMOVABLE if self.stored.get(name)]
        self.fields["forget"].choices = removable  # type: ignore[attr-defined]
        if not removable:
            del self.fields["forget"]
        entered_before = self.data.get("entered", "").split(",")
        pasted = {name for name in SECRETS if self.data.get(name, "").strip()}
        pasted |= {SERVICE_ACCOUNT} if self.files.get(FILE) else set()
        self.entered = [name for name in SECRETS if name in pasted or name in entered_before]
        for name in REQUIRED:
            self.fields[name].widget.attrs["aria-required"] = "false" if stored else "true"

    def groups(self) -> dict[str, list[forms.BoundField]]:
        logins = {"oauth": list(OAUTH), SERVICE_ACCOUNT: [SERVICE_ACCOUNT, FILE]}
        rest = ["developer_token", *(["forget"] if "forget" in self.fields else [])]
        names = {"account": ["customer_id", "login_customer_id", "conversion_action", "conversion_actions"]}
        names["account"] += [CONFIRM] if CONFIRM in self.fields else []
        return {group: [self[name] for name in fields] for group, fields in (names | logins | {"rest": rest}).items()}

    def clean_customer_id(self, name: str = "customer_id") -> str:
        try:
            return normalize_customer_id(self.cleaned_data[name]) if self.cleaned_data[name] else ""
        except ValueError as error:
            raise forms.ValidationError(str(error)) from None

    def clean_login_customer_id(self) -> str:
        return self.clean_customer_id("login_customer_id")

    def clean(self) -> None:
        self._read_file()
        self._read_actions()
        self.change = LoginChange(
            self.stored,
            {name: self.cleaned_data[name] for name in LABELS if self.cleaned_data.get(name)},
            self.cleaned_data.get("forget", []),
            is_service_account=SERVICE_ACCOUNT in self.entered,
            known_faults=self.errors,
        )
        if self.change.is_empty and not self.errors:
            self.add_error(None, _("Nothing was entered, so nothing was changed."))
        self.change.check()
        self.cleaned_data.update(self.change.entered)
        for name, fault in self.change.faults.items():
            self.add_error(name, fault)
        if self.change.is_move and CONFIRM in self.fields and not self.cleaned_data.get(CONFIRM):
            self.add_error(CONFIRM, _("This is another Google account. Tick the box to move the site all the same."))
        self._ask_for_secrets()

    def _read_file(self) -> None:
        if file := self.cleaned_data.pop(FILE, None):
            self.cleaned_data[SERVICE_ACCOUNT] = file.read(LONGEST + 1).decode("utf-8-sig", errors="replace")

    def _read_actions(self) -> None:
        customer, text = self.cleaned_data.get("customer_id"), self.cleaned_data.get("conversion_actions")
        if customer and text:
            try:
                self.cleaned_data["conversion_actions"] = read_actions(text, customer_id=customer)
            except ValueError as error:
                self.add_error("conversion_actions", str(error))

    def _ask_for_secrets(self) -> None:
        """Ask again for secrets whose fields a fault has emptied, or will."""
        emptied = [name for name in self.entered if not self.cleaned_data.get(name)]
        for name in self.entered if self.errors else emptied:
            if name not in self.errors:
                self.add_error(name, _("Enter it again: secrets are not sent back to the page."))


def credentials_page(model_admin: ModelAdmin, request: HttpRequest, site: Site) -> HttpResponse | None:
    """Show which parts are stored and what the last test found; a site's admins store credentials here."""
    is_change = request.method == "POST"
    if is_change and not may_administer(request.user, site):
        raise PermissionDenied
    with transaction.atomic():
        # When two admins each replace a part, the second must see what the first stored.
        rows = Credentials.objects.select_for_update() if is_change else Credentials.objects.all()
        stored = rows.filter(site=site).first()
        account, error = stored_login(stored)
        open_rows = unsettled_rows(site)
        form = LoginForm(
            *((request.POST, request.FILES) if is_change else ()),
            stored=account,
            confirmation=confirmation(site, open_rows, _("Move to another account")) if open_rows else None,
        )
        if form.is_valid():
            store_login(request.user, site, form.change, open_rows)
            messages.success(request, describe(form.change))
            return None
    return site_page(
        model_admin,
        request,
        site,
        "credentials",
        title=_("Google credentials of %(site)s") % {"site": site},
        form=form,
        to_enter_again=[LABELS[name] for name in form.entered] if form.errors else [],
        stored=stored,
        error=error,
        groups=form.groups(),
        parts=[(LABELS[name], is_stored) for name, is_stored in stored_parts(account).items()] if account else [],
        service_account_email=account.service_account_email if account else "",
        is_waiting=stored is not None and Credentials.objects.awaiting_check().filter(pk=stored.pk).exists(),
        no_worker=not Heartbeat.objects.alive().exists(),
        is_uploaded_here=site.sync_method in UPLOADED_HERE,
    )


def request_check(_model_admin: ModelAdmin, request: HttpRequest, site: Site) -> HttpResponse:
    if not request_test(site):
        messages.warning(request, _("No credentials are stored."))
    return HttpResponseRedirect(f"{site_address(site, 'credentials')}#check")
