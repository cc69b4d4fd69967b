"""An operator's time zone and language.

Both are cookies of the browser: no page pays a query for them, and machines always read UTC and English.
"""

from functools import cache
from zoneinfo import ZoneInfo, available_timezones

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.middleware.locale import LocaleMiddleware
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone, translation
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminSelectWidget

from kilit.access.middleware import Middleware

CHOSEN_ZONE = "kilit_zone"
BROWSERS_ZONE = "kilit_browser_zone"  # written by zone.js
A_YEAR = 365 * 24 * 3600


def is_for_people(request: HttpRequest) -> bool:
    return request.path.startswith("/admin/")


class UserLanguageMiddleware(LocaleMiddleware):
    """Uses the operator's language in the console only; the API is always English."""

    def process_request(self, request: HttpRequest) -> None:
        if is_for_people(request):
            super().process_request(request)
        else:
            translation.activate(settings.LANGUAGE_CODE)

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        return super().process_response(request, response) if is_for_people(request) else response


class UserTimezoneMiddleware(Middleware):
    """Uses the operator's time zone in the console; APIs stay in UTC."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not is_for_people(request):
            return self.get_response(request)
        with timezone.override(zone_of(request)):
            return self.get_response(request)


def zone_of(request: HttpRequest) -> ZoneInfo:
    """Return the chosen time zone, else the browser's, else the installation's; unknown ones are ignored."""
    for cookie in (CHOSEN_ZONE, BROWSERS_ZONE):
        if (name := request.COOKIES.get(cookie, "")) in zones():
            return ZoneInfo(name)
    return ZoneInfo(settings.TIME_ZONE)


@cache
def zones() -> tuple[str, ...]:
    return tuple(sorted(name for name in available_timezones() if "/" in name or name == "UTC"))


class ZoneForm(forms.Form):
    zone = forms.ChoiceField(
        label=_("Time zone"),
        choices=lambda: [("", _("Same as the browser")), *((name, name.replace("_", " ")) for name in zones())],
        required=False,
        widget=UnfoldAdminSelectWidget,
        help_text=_("Times in the console are shown in this zone. APIs and files use UTC."),
    )


def preferences(request: HttpRequest) -> HttpResponse:
    form = ZoneForm(request.POST or None, initial={"zone": request.COOKIES.get(CHOSEN_ZONE, "")})
    if request.method == "POST" and form.is_valid():
        answer = HttpResponseRedirect(reverse("preferences"))
        if zone := form.cleaned_data["zone"]:
            secure = settings.SESSION_COOKIE_SECURE
            answer.set_cookie(CHOSEN_ZONE, zone, max_age=A_YEAR, httponly=True, secure=secure, samesite="Lax")
        else:
            answer.delete_cookie(CHOSEN_ZONE, samesite="Lax")
        messages.success(request, _("Saved in this browser."))
        return answer
    request.current_app = admin.site.name
    context = {**admin.site.each_context(request), "title": _("Language and time zone"), "form": form}
    return TemplateResponse(request, "admin/preferences.html", context)
