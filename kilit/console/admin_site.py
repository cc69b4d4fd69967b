"""unfold's admin site, which would otherwise list the apps and check all permissions three times for a page."""

from typing import Any

from django.http import HttpRequest
from unfold.sites import UnfoldAdminSite


class ConsoleSite(UnfoldAdminSite):
    def get_app_list(self, request: HttpRequest, app_label: str | None = None) -> list[Any]:
        """Return the apps and models that the user may see; for all apps, once for each request."""
        if app_label is not None:
            return list(super().get_app_list(request, app_label))
        if not hasattr(request, "console_apps"):
            request.console_apps = super().get_app_list(request)  # type: ignore[attr-defined]
        return list(request.console_apps)  # type: ignore[attr-defined]
