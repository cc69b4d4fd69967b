"""A user's own pages of the second factor: an authenticator app, passkeys and recovery codes."""

from typing import Any

import segno
from allauth.mfa.adapter import get_adapter
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import clear_totp_secret, get_totp_secret, validate_totp_code
from django import forms
from django.contrib import admin, messages
from django.contrib.auth import authenticate, logout
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404
from django.urls import path, reverse, reverse_lazy
from django.utils.safestring import mark_safe
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.generic import FormView, TemplateView

from kilit.access.encryption import DecryptionError
from kilit.access.passkeys import PASSKEY, add_passkey, new_challenge
from kilit.access.second_factor import (
    add_app,
    confirm,
    confirmed_recently,
    gave_second_factor,
    has_second_factor,
    is_on,
    lacks_second_factor,
    remove_own,
    replace_recovery_codes,
)
from kilit.console.account.form_pages import FormPage
from kilit.console.account.login_pages import CodeForm, CredentialForm

TOTP, CODES = Authenticator.Type.TOTP, Authenticator.Type.RECOVERY_CODES


class SecondFactorPage(FormPage):
    """What the pages have in common: they are for logged-in users, and only where second factors are on."""

    needs_confirmation = True
    user: User

    def is_offered(self) -> bool:
        return is_on()

    def dispatch(self, request: HttpRequest, *args: object, **options: object) -> HttpResponseBase:
        self.user = request.user  # type: ignore[assignment]  # admin_view lets no one else through
        if has_second_factor(self.user) and not gave_second_factor(request):
            logout(request)  # the session began before there was a second factor: it must not change it
            return HttpResponseRedirect(reverse("admin:login"))
        if self.needs_confirmation and not confirmed_recently(request):
            return HttpResponseRedirect(f"{reverse('second_factor_confirm')}?next={request.path}")
        return super().dispatch(request, *args, **options)

    def own(self, kind: str) -> Authenticator | None:
        return Authenticator.objects.filter(user=self.user, type=kind).first()


class OverviewPage(SecondFactorPage, TemplateView):
    template_name = "admin/second_factor/overview.html"
    needs_confirmation = False
    extra_context = {"title": gettext_lazy("Two-factor authentication")}

    def get_context_data(self, **context: object) -> dict[str, Any]:
        codes, left = self.own(CODES), 0
        if codes:
            try:
                left = len(codes.wrap().get_unused_codes())
            except DecryptionError as error:
                messages.error(self.request, str(error))
        passkeys = Authenticator.objects.filter(user=self.user, type=PASSKEY).order_by("created_at")
        own = {"app": self.own(TOTP), "passkeys": passkeys, "codes": codes, "codes_left": left}
        return super().get_context_data(**context, **own, is_required=lacks_second_factor(self.request))


class PasswordForm(forms.Form):
    password = forms.CharField(
        label=gettext_lazy("Password"),
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password", "autofocus": True}),
    )


class ConfirmPage(SecondFactorPage, FormView[PasswordForm]):
    """Asks for the password again; who has no password logs in again."""

    form_class = PasswordForm
    template_name = "admin/second_factor/confirm.html"
    needs_confirmation = False
    extra_context = {"title": gettext_lazy("Confirm that it is you")}

    def form_valid(self, form: PasswordForm) -> HttpResponse:
        # By the backends, so that wrong ones count as at the login.
        person = authenticate(self.request, username=self.user.get_username(), password=form.cleaned_data["password"])
        if person is None or person.pk != self.user.pk:
            form.add_error("password", _("This password is wrong."))
            return self.form_invalid(form)
        confirm(self.request, self.user)
        pages = [reverse(name) for name in ("second_factor_app", "second_factor_passkey", "second_factor_codes")]
        chosen = self.request.GET.get("next", "")
        return HttpResponseRedirect(chosen if chosen in pages else reverse("second_factor"))


class AppPage(SecondFactorPage, FormView[CodeForm]):
    """Shows a new secret as a QR code and as text; a code proves that the app has it."""

    form_class = CodeForm
    template_name = "admin/second_factor/app.html"
    success_url = reverse_lazy("second_factor_codes")
    extra_context = {"title": gettext_lazy("Set up an authenticator app")}

    def dispatch(self, request: HttpRequest, *args: object, **options: object) -> HttpResponseBase:
        if Authenticator.objects.filter(user=request.user, type=TOTP).exists():
            return HttpResponseRedirect(reverse("second_factor"))
        return super().dispatch(request, *args, **options)

    def get_context_data(self, **context: object) -> dict[str, Any]:
        secret = get_totp_secret()
        address = get_adapter().build_totp_url(self.user, secret)
        image = segno.make(address, error="m").svg_inline(scale=5, border=2, svgclass=None)
        groups = " ".join(secret[at : at + 4] for at in range(0, len(secret), 4))
        return super().get_context_data(**context, secret=groups, address=address, image=mark_safe(image))  # noqa: S308 - segno's

    def form_valid(self, form: CodeForm) -> HttpResponse:
        secret = get_totp_secret()
        if not validate_totp_code(secret, form.cleaned_data["code"]):
            text = _("This is not the code that the app shows now. Check that the phone's time is right.")
            form.add_error("code", text)
            return self.form_invalid(form)
        add_app(self.request, self.user, secret)
        clear_totp_secret(self.request)
        return super().form_valid(form)


class CodesPage(SecondFactorPage, TemplateView):
    """Shows recovery codes once, when they are new."""

    template_name = "admin/second_factor/codes.html"
    extra_context = {"title": gettext_lazy("Recovery codes")}

    def get(self, request: HttpRequest, *args: object, **options: object) -> HttpResponse:
        codes = self.own(CODES)
        if codes is None or codes.wrap().did_view:
            return HttpResponseRedirect(reverse("second_factor"))
        unused = codes.wrap().get_unused_codes()
        codes.wrap().mark_as_viewed()
        return self.render_to_response(self.get_context_data(codes=[f"{code[:4]} {code[4:]}" for code in unused]))

    def post(self, request: HttpRequest, *args: object, **options: object) -> HttpResponse:
        if not has_second_factor(self.user):
            return HttpResponseRedirect(reverse("second_factor"))
        replace_recovery_codes(self.user)
        return HttpResponseRedirect(reverse("second_factor_codes"))


class PasskeyForm(CredentialForm):
    name = forms.CharField(
        label=gettext_lazy("Name"),
        max_length=50,
        help_text=gettext_lazy("To tell it from others, such as “Laptop” or “Blue security key”."),
    )


class PasskeyPage(SecondFactorPage, FormView[PasskeyForm]):
    form_class = PasskeyForm
    template_name = "admin/second_factor/passkey.html"
    success_url = reverse_lazy("second_factor_codes")  # which leads on if the user has codes already
    extra_context = {"title": gettext_lazy("Add a passkey")}

    def get_context_data(self, **context: object) -> dict[str, Any]:
        return super().get_context_data(**context, options=new_challenge(self.user))

    def form_valid(self, form: PasskeyForm) -> HttpResponse:
        name = form.cleaned_data["name"]
        if not add_passkey(self.request, self.user, name, form.cleaned_data["credential"]):
            form.add_error(None, _("The passkey could not be added. Try again."))
            return self.form_invalid(form)
        messages.success(self.request, _("The passkey %(name)s was added.") % {"name": name})
        return super().form_valid(form)


class RemovePage(SecondFactorPage):
    def post(self, request: HttpRequest, **factor_key: object) -> HttpResponse:
        factor = get_object_or_404(Authenticator, user=self.user, **factor_key)
        note, text = "Removed the authenticator app", _("The authenticator app was removed.")
        if factor.type == PASSKEY:
            name = factor.wrap().name
            note, text = f"Removed the passkey {name}", _("The passkey %(name)s was removed.") % {"name": name}
        remove_own(request, self.user, factor, note)
        messages.success(request, text)
        return HttpResponseRedirect(reverse("second_factor"))


def page(route: str, view: Any, name: str, **values: str) -> Any:
    return path(route, admin.site.admin_view(view.as_view()), values, name=name)


urls = [
    page("", OverviewPage, "second_factor"),
    page("confirm/", ConfirmPage, "second_factor_confirm"),
    page("app/", AppPage, "second_factor_app"),
    page("codes/", CodesPage, "second_factor_codes"),
    page("passkey/", PasskeyPage, "second_factor_passkey"),
    page("app/remove/", RemovePage, "second_factor_app_remove", type=TOTP),
    page("passkey/<int:pk>/remove/", RemovePage, "second_factor_passkey_remove", type=PASSKEY),
]
