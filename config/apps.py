"""The top of the graph, as a Django app: it holds commands, checks and the API's manners."""

from datetime import timedelta

from django.apps import AppConfig, apps
from django.utils.translation import gettext_lazy as _


class KilitConfig(AppConfig):
    """Registers the system checks and a sweep."""

    name = "config"

    def ready(self) -> None:
        """Import what registers itself."""
        from config import checks  # noqa: F401, PLC0415
        from config.lockout import forget_attempts  # noqa: PLC0415
        from lifecycle.workers import sweeps  # noqa: PLC0415

        about = _("Deletes failed logins that no longer count.")
        sweeps.register("forget_login_attempts", every=timedelta(hours=1), run=forget_attempts, about=about)
        # By the name that the console has for users and groups.
        apps.get_app_config("auth").verbose_name = _("People")
