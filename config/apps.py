"""config as a Django app: it has commands, checks and admin pages."""

import gc

from django.apps import AppConfig, apps
from django.utils.module_loading import autodiscover_modules
from django.utils.translation import gettext_lazy as _


class KilitConfig(AppConfig):
    name = "config"

    def ready(self) -> None:
        """Import what every app declares; models are loaded by now."""
        autodiscover_modules("registrations", "queue", "problems")
        apps.get_app_config("auth").verbose_name = _("Users and roles")  # before "Authentication and Authorization"
        # Everything is loaded and stays: the collector need not look at it again, nor in workers that are forked.
        gc.freeze()
        gc.enable()
