"""config as a Django app: it has commands, checks and admin pages."""

import gc

from django.apps import AppConfig, apps
from django.utils.translation import gettext_lazy as _


class KilitConfig(AppConfig):
    name = "config"

    def ready(self) -> None:
        from config import checks  # noqa: F401, PLC0415
        from config.web.address_kinds import KINDS  # noqa: PLC0415
        from kilit.web.metrics import WebCollector  # noqa: PLC0415
        from kilit.workers.metrics import registry  # noqa: PLC0415

        apps.get_app_config("auth").verbose_name = _("Users and roles")  # before "Authentication and Authorization"
        registry.register(WebCollector(KINDS))
        # Everything is loaded and stays: the collector need not look at it again, nor in workers that are forked.
        gc.freeze()
        gc.enable()
