"""The login page, and the page that asks for a code before there is a session.

Some names of URLs are django-allauth's: it redirects to them.
"""

from typing import Any

from allauth.account.internal.flows.login import perform_password_login
from allauth.account.models import Login
from allauth.account.stages import LoginStageController
from allauth.mfa.base.internal.flows import post_authentication
from allauth.mfa.models import Authenticator
from allauth.mfa.stages import AuthenticateStage
from django import forms
from django.conf import settings
from django.contrib import admin
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.urls import path, reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.generic import FormView

from kilit.access.passkeys import challenge, check_passkey, has_passkeys
from kilit.access.second_factor import check_code, is_on
from kilit.console.account.form_pages import FormPage
from kilit.sites.oidc.client import TURNS


class LoginPage(FormPage, LoginView):
    """The admin's login page; where second factors are on, django-allauth asks for one before it logs in."""

    template_name = "admin/login.html"

    def get_form_class(self) -> Any:
        return admin.site.login_form

    def get_context_data(self, **context: object) -> dict[str, Any]:
        own: dict[str, object] = {
            "title": _("Log in"),
            "subtitle": None,
            "app_path": self.request.get_full_path(),
            "username": self.request.user.get_username(),
            "provider_note": provider_silence(),
            "is_interrupted": self.get_redirect_url() not in ("", self.get_default_redirect_url()),
        }
        return {**own, **super().get_context_data(**context)}

    def get_default_redirect_url(self) -> str:
        return reverse("admin:index")

    def get(self, request: HttpRequest, *args: object, **options: object) -> HttpResponse:
        if admin.site.has_permission(request):
            return HttpResponseRedirect(reverse("admin:index"))
        return super().get(request, *args, **options)

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        if not is_on():
            return super().form_valid(form)
        user = form.get_user()
        login = Login(user=user, redirect_url=self.get_success_url())
        return perform_password_login(self.request, {"username": user.get_username()}, login)


def provider_silence() -> str:
    """Return a sentence for the login page while the provider is not asked because it was silent."""
    seconds = TURNS.seconds_to_wait() if settings.OIDC_ISSUER else 0
    text = ngettext(
        "%(provider)s does not answer. Try again in %(seconds)d second, or log in with your password.",
        "%(provider)s does not answer. Try again in %(seconds)d seconds, or log in with your password.",
        seconds,
    )
    return text % {"provider": settings.OIDC_NAME, "seconds": seconds} if seconds else ""


class CodeForm(forms.Form):
    code = forms.CharField(
        label=gettext_lazy("Code"),
        max_length=20,
        widget=forms.TextInput(attrs={"autocomplete": "one-time-code", "inputmode": "numeric"}),
    )


class CredentialForm(forms.Form):
    credential = forms.JSONField(widget=forms.HiddenInput)


class CodePage(FormPage, FormView[forms.Form]):
    """Asks for a passkey, a code of the authenticator app, or a recovery code, after the password was right."""

    template_name = "admin/login_code.html"
    extra_context = {"title": gettext_lazy("Two-factor authentication")}
    stage: Any

    def is_offered(self) -> bool:
        return is_on()

    def dispatch(self, request: HttpRequest, *args: object, **options: object) -> HttpResponseBase:
        self.stage = LoginStageController.enter(request, AuthenticateStage.key)
        if self.stage is None or self.stage.login.user is None or request.user.is_authenticated:
            return HttpResponseRedirect(reverse("admin:login"))
        return super().dispatch(request, *args, **options)

    def get_form_class(self) -> type[forms.Form]:
        return CredentialForm if "credential" in self.request.POST else CodeForm

    def get_context_data(self, **context: Any) -> dict[str, Any]:
        user, form = self.stage.login.user, context.get("form")
        if isinstance(form, CredentialForm):  # the page has both forms
            context |= {"form": CodeForm(), "passkey_form": form}
        context["options"] = challenge(user) if has_passkeys(user) else None
        context["has_app"] = Authenticator.objects.filter(user=user, type=Authenticator.Type.TOTP).exists()
        page_context = super().get_context_data(**context)
        page_context["form"].fields["code"].widget.attrs["autofocus"] = True
        return page_context

    def form_valid(self, form: forms.Form) -> HttpResponse:
        user, fields = self.stage.login.user, form.cleaned_data
        if isinstance(form, CredentialForm):
            authenticator = check_passkey(self.request, user, fields["credential"])
            field, refusal = None, _("This passkey was not accepted. Try again.")
        else:
            authenticator, field = check_code(self.request, user, fields["code"]), "code"
            refusal = _("This code is wrong, too old, or was used before. Enter the one that is shown now.")
        if authenticator is None:
            form.add_error(field, refusal)
            return self.form_invalid(form)
        post_authentication(self.request, authenticator)
        return self.stage.exit()


urls = [path("code/", CodePage.as_view(), name="mfa_authenticate")]
