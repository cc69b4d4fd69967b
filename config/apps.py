"""The top of the graph, as a Django app: it holds commands, checks and the API's manners."""

from django.apps import AppConfig, apps
from django.utils.translation import gettext_lazy as _


class KilitConfig(AppConfig):
    """Registers the system checks."""

    name = "config"

    def ready(self) -> None:
        """Import what registers itself."""
        from config import checks  # noqa: F401, PLC0415

        # By the name that the console has for users and groups.
        apps.get_app_config("auth").verbose_name = _("People")
