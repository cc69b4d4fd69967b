"""config as a Django app: it has commands, checks and admin pages."""

from django.apps import AppConfig


class KilitConfig(AppConfig):
    name = "config"

    def ready(self) -> None:
        from config import checks  # noqa: F401, PLC0415
