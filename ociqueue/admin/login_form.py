"""The form for a login at Google Ads: nothing stored is put into it, and what stays empty stays as it is."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from django import forms
from django.core.validators import RegexValidator
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.widgets import (
    UnfoldAdminCheckboxSelectMultipleWidget,
    UnfoldAdminPasswordWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
)

from ociqueue.models.credentials import Account, spoken_action, spoken_customer

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

# The parts of an account in words, in the order of the form.
LABELS = {
    "customer_id": gettext_lazy("Customer id"),
    "login_customer_id": gettext_lazy("Login customer id"),
    "client_id": gettext_lazy("OAuth client id"),
    "client_secret": gettext_lazy("OAuth client secret"),
    "refresh_token": gettext_lazy("Refresh token"),
    "developer_token": gettext_lazy("Developer token"),
    "conversion_action": gettext_lazy("Conversion action"),
    "conversion_actions": gettext_lazy("Actions of single conversion names"),
}
NEEDED = ("customer_id", "client_id", "client_secret", "refresh_token", "conversion_action")
OPTIONAL = tuple(name for name in LABELS if name not in NEEDED)
LONGEST_NAME = 100


# They travel in headers, which hold no other letters: a pasted quotation mark would stop every upload.
printable = RegexValidator(r"^[!-~]*$", gettext_lazy("Only letters, digits and signs of ASCII, without spaces."))


def _text(name: str, help_text: "StrOrPromise", *, placeholder: str = "") -> forms.CharField:
    widget = UnfoldAdminTextInputWidget(attrs={"autocomplete": "off", "placeholder": placeholder})
    return forms.CharField(label=LABELS[name], required=False, max_length=500, widget=widget, help_text=help_text)


def _secret(name: str, help_text: "StrOrPromise") -> forms.CharField:
    widget = UnfoldAdminPasswordWidget(attrs={"autocomplete": "new-password"})
    return forms.CharField(
        label=LABELS[name],
        required=False,
        max_length=2000,
        widget=widget,
        help_text=help_text,
        validators=[printable],
    )


class LoginForm(forms.Form):
    """Asks for a login, or for the parts of it that are to be replaced."""

    customer_id = _text(
        "customer_id",
        gettext_lazy("The account that owns the conversions, as in 123-456-7890."),
        placeholder="123-456-7890",
    )
    login_customer_id = _text(
        "login_customer_id",
        gettext_lazy("Only when the login reaches the account through a manager account: the manager's id."),
    )
    client_id = _text("client_id", gettext_lazy("Of the OAuth client in your Google Cloud project."))
    client_secret = _secret("client_secret", gettext_lazy("Of the same client."))
    refresh_token = _secret(
        "refresh_token", gettext_lazy("What Google gave when the client was allowed to manage the account.")
    )
    developer_token = _secret("developer_token", gettext_lazy("Only when Google asks for it."))
    conversion_action = _text(
        "conversion_action",
        gettext_lazy(
            "Its number, or customers/1234567890/conversionActions/ and its number. "
            "Enter the customer id along with it."
        ),
    )
    conversion_actions = forms.CharField(
        label=LABELS["conversion_actions"],
        required=False,
        max_length=20_000,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 3, "placeholder": "Teklif = 987654"}),
        help_text=gettext_lazy(
            "One a line: conversion name = action. Other names are counted under the conversion action above. "
            "What is entered replaces all lines that are stored; enter the customer id along with it."
        ),
    )
    forget = forms.MultipleChoiceField(
        label=gettext_lazy("Remove what is stored of"),
        required=False,
        widget=UnfoldAdminCheckboxSelectMultipleWidget,
    )

    def __init__(self, *args: Any, stored: Account | None, **options: Any) -> None:
        super().__init__(*args, **options)
        self.stored = asdict(stored) if stored else {}
        removable = [(name, LABELS[name]) for name in OPTIONAL if self.stored.get(name)]
        self.fields["forget"].choices = removable  # type: ignore[attr-defined]
        if not removable:
            del self.fields["forget"]
        for name in NEEDED:
            self.fields[name].widget.attrs["aria-required"] = "false" if stored else "true"

    def clean_customer_id(self) -> str:
        return self._customer("customer_id")

    def clean_login_customer_id(self) -> str:
        return self._customer("login_customer_id")

    def clean(self) -> None:
        """Ask for what a login cannot do without, and check the actions against their customer."""
        given = self.changes()
        if not given and not self.errors:
            self.add_error(None, _("Nothing was entered, so nothing was changed."))
        for name in NEEDED if given or self.errors else ():
            if not self.stored.get(name) and not self.cleaned_data.get(name) and name not in self.errors:
                self.add_error(name, _("Needed: none is stored."))
        customer = self.cleaned_data.get("customer_id")
        if customer:
            self._clean_action(customer)
            self._clean_actions(customer)
        elif "customer_id" not in self.errors and self._gives("conversion_action", "conversion_actions"):
            # Checked against what is typed, so that no message has to name what is stored.
            self.add_error("customer_id", _("Enter it again: conversion actions belong to a customer."))

    def changes(self) -> list[str]:
        """Return what was entered or is to be removed, in words and without any value."""
        entered = [str(label).lower() for name, label in LABELS.items() if self.cleaned_data.get(name)]
        return entered + [_("%(part)s removed") % {"part": str(LABELS[name]).lower()} for name in self._forgotten()]

    def account(self) -> Account:
        """Return the whole login: what was entered over what is stored."""
        kept = {name: value for name, value in self.stored.items() if name not in self._forgotten()}
        entered = {name: self.cleaned_data[name] for name in LABELS if self.cleaned_data[name]}
        return Account(**{**kept, **entered})

    def _gives(self, *names: str) -> bool:
        return any(self.cleaned_data.get(name) for name in names)

    def _forgotten(self) -> list[str]:
        return [name for name in self.cleaned_data.get("forget", []) if not self.cleaned_data.get(name)]

    def _customer(self, name: str) -> str:
        text: str = self.cleaned_data[name]
        return _said(spoken_customer, text) if text else ""

    def _clean_action(self, customer: str) -> None:
        if text := self.cleaned_data.get("conversion_action"):
            try:
                self.cleaned_data["conversion_action"] = spoken_action(text, customer_id=customer)
            except ValueError as refusal:
                self.add_error("conversion_action", str(refusal))
        elif not _belongs(self.stored.get("conversion_action", ""), customer):
            words = _("The one that is stored is another customer's: enter this customer's.")
            self.add_error("conversion_action", words)

    def _clean_actions(self, customer: str) -> None:
        if text := self.cleaned_data.get("conversion_actions"):
            try:
                self.cleaned_data["conversion_actions"] = read_actions(text, customer_id=customer)
            except ValueError as refusal:
                self.add_error("conversion_actions", str(refusal))
        elif "conversion_actions" not in self._forgotten():
            kept = self.stored.get("conversion_actions", {})
            if not all(_belongs(action, customer) for action in kept.values()):
                words = _("Those that are stored are another customer's: enter or remove them.")
                self.add_error("conversion_actions", words)


def read_actions(text: str, *, customer_id: str) -> dict[str, str]:
    """Return the action of each conversion name; ValueError names the line that is wrong."""
    found: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        # A conversion name may hold an equals sign; an action never does.
        name, separator, action = line.rpartition("=")
        name = name.strip()
        if not separator or not name:
            words = _("Line %(number)s: write conversion name = action, as in Teklif = 987654.")
            raise ValueError(words % {"number": number})
        if len(name) > LONGEST_NAME:
            words = _("Line %(number)s: a conversion name has at most %(most)s characters.")
            raise ValueError(words % {"number": number, "most": LONGEST_NAME})
        if name in found:
            words = _("Line %(number)s: %(name)s has an action already.")
            raise ValueError(words % {"number": number, "name": name})
        try:
            found[name] = spoken_action(action, customer_id=customer_id)
        except ValueError as refusal:
            told = _("Line %(number)s: %(refusal)s") % {"number": number, "refusal": refusal}
            raise ValueError(told) from None
    return found


def _belongs(action: str, customer: str) -> bool:
    return not action or action.startswith(f"customers/{customer}/")


def _said(read: Any, text: str) -> str:
    try:
        return str(read(text))
    except ValueError as refusal:
        raise forms.ValidationError(str(refusal)) from None
