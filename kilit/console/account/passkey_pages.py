"""A user's own pages of passkeys: add, remove."""

from typing import Any

from allauth.mfa.models import Authenticator
from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.urls import reverse, reverse_lazy
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.generic import FormView, View

from kilit.access.passkeys import PASSKEY, add_passkey, new_challenge
from kilit.access.second_factor import remove_own
from kilit.console.account.second_factor_pages import SecondFactorPage, page
from kilit.console.account.second_factor_pages import urls as second_factor_urls


class PasskeyForm(forms.Form):
    name = forms.CharField(
        label=gettext_lazy("Name"),
        max_length=50,
        help_text=gettext_lazy("To tell it from others, such as “Laptop” or “Blue security key”."),
    )
    credential = forms.JSONField(widget=forms.HiddenInput)


class PasskeyPage(SecondFactorPage, FormView[PasskeyForm]):
    form_class = PasskeyForm
    template_name = "admin/second_factor/passkey.html"
    success_url = reverse_lazy("second_factor_codes")  # which leads on if the user has codes already
    extra_context = {"title": gettext_lazy("Add a passkey")}

    def get_context_data(self, **context: Any) -> dict[str, Any]:
        return super().get_context_data(**context, options=new_challenge(self.user))

    def form_valid(self, form: PasskeyForm) -> HttpResponse:
        name = form.cleaned_data["name"]
        if not add_passkey(self.request, self.user, name, form.cleaned_data["credential"]):
            form.add_error(None, _("The passkey could not be added. Try again."))
            return self.form_invalid(form)
        messages.success(self.request, _("The passkey %(name)s was added.") % {"name": name})
        return super().form_valid(form)


class RemovePasskeyPage(SecondFactorPage, View):
    http_method_names = ["post"]

    def post(self, request: HttpRequest, pk: int) -> HttpResponse:
        found = get_object_or_404(Authenticator, user=self.user, type=PASSKEY, pk=pk)
        name = found.wrap().name
        remove_own(request, self.user, found, f"Removed the passkey {name}")
        messages.success(request, _("The passkey %(name)s was removed.") % {"name": name})
        return HttpResponseRedirect(reverse("second_factor"))


urls = [
    *second_factor_urls,
    page("passkey/", PasskeyPage, "second_factor_passkey"),
    page("passkey/<int:pk>/remove/", RemovePasskeyPage, "second_factor_passkey_remove"),
]
