"""django-unfold, with the console's own admin site."""

from typing import Any

from django.contrib import admin
from django.contrib.admin import sites
from django.http import HttpRequest
from unfold.apps import BasicAppConfig
from unfold.sites import UnfoldAdminSite


class ConsoleSite(UnfoldAdminSite):
    """unfold's admin site, which would otherwise list the apps and check all permissions three times for a page."""

    def get_app_list(self, request: HttpRequest, app_label: str | None = None) -> list[Any]:
        """Return the apps and models that the user may see; for all apps, once for each request."""
        if app_label is not None:
            return list(super().get_app_list(request, app_label))
        if not hasattr(request, "console_apps"):
            request.console_apps = super().get_app_list(request)  # type: ignore[attr-defined]
        return list(request.console_apps)  # type: ignore[attr-defined]


class UnfoldConfig(BasicAppConfig):
    def ready(self) -> None:
        admin.site = sites.site = ConsoleSite()
