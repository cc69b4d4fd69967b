"""django-unfold, with the console's own admin site."""

from django.contrib import admin
from django.contrib.admin import sites
from unfold.apps import BasicAppConfig

from kilit.console.admin_site import ConsoleSite


class UnfoldConfig(BasicAppConfig):  # type: ignore[misc]
    def ready(self) -> None:
        admin.site = sites.site = ConsoleSite()
