"""The pages of a password reset by e-mail; without EMAIL_URL there are no such pages."""

from math import ceil
from typing import Any

from django.conf import settings
from django.contrib.auth import views
from django.contrib.auth.forms import SetPasswordForm
from django.contrib.auth.models import User
from django.db import transaction
from django.forms import Form
from django.http import HttpResponse
from django.urls import path, reverse_lazy
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext
from django.views.generic import TemplateView

from kilit.access.lockout import client_address
from kilit.access.password_reset import LinkRequestForm, may_reset, note_reset, seconds_to_wait_for_reset, send_links
from kilit.console.account.form_pages import FormPage


class ResetPage(FormPage):
    def is_offered(self) -> bool:
        return bool(settings.EMAIL_HOST)


class RequestPage(ResetPage, views.PasswordResetView):
    form_class = LinkRequestForm
    template_name = "admin/password_reset.html"
    success_url = reverse_lazy("password_reset_done")
    title = _("Reset your password")

    def form_valid(self, form: Any) -> HttpResponse:
        if seconds := seconds_to_wait_for_reset(form.cleaned_data["email"], client_address(self.request)):
            minutes = ceil(seconds / 60)
            text = ngettext(
                "Too many requests. Try again in %d minute.", "Too many requests. Try again in %d minutes.", minutes
            )
            return self._refused(form, text % minutes, status=429, seconds=seconds)
        if not send_links(form):
            sorry = _("The mail server does not respond at the moment. Try again in a few minutes.")
            return self._refused(form, sorry, status=503, seconds=60)
        return super(views.PasswordResetView, self).form_valid(form)

    def _refused(self, form: Form, text: Any, *, status: int, seconds: int) -> HttpResponse:
        form.add_error(None, text)
        page = self.render_to_response(self.get_context_data(form=form), status=status)
        page["Retry-After"] = str(seconds)
        return page


class NotesPage(ResetPage, TemplateView):
    template_name = "admin/login_notes.html"


class NewPasswordPage(ResetPage, views.PasswordResetConfirmView):
    template_name = "admin/password_reset_confirm.html"
    success_url = reverse_lazy("password_reset_complete")
    title = _("Choose a new password")

    def get_user(self, uidb64: str) -> User | None:
        """The link of a user who was deactivated since leads nowhere."""
        user = super().get_user(uidb64)
        return user if isinstance(user, User) and may_reset(user) else None

    def form_valid(self, form: "SetPasswordForm[User]") -> HttpResponse:
        with transaction.atomic():
            answer = super().form_valid(form)
            note_reset(form.user)
        return answer


REQUESTED = {
    "title": _("Check your mail"),
    "notes": (
        _("If an account has this e-mail address, a link is on its way. Look into your spam folder, too."),
        _("If no mail arrives, ask an admin which address your account has."),
    ),
}
COMPLETE = {
    "title": _("Your password was changed"),
    "notes": [_("You can log in with your new password. You were logged out everywhere else.")],
}
urls = [
    path("", RequestPage.as_view(), name="password_reset"),
    path("done/", NotesPage.as_view(extra_context=REQUESTED), name="password_reset_done"),
    path("complete/", NotesPage.as_view(extra_context=COMPLETE), name="password_reset_complete"),
    path("<uidb64>/<token>/", NewPasswordPage.as_view(), name="password_reset_confirm"),
]
