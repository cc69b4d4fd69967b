"""The console, as a Django app."""

from django.apps import AppConfig


class ConsoleConfig(AppConfig):
    name = "kilit.console"

    def ready(self) -> None:
        from kilit.console.models import SavedView  # noqa: PLC0415
        from kilit.lock.free_text import register_free_text  # noqa: PLC0415

        register_free_text(SavedView, "name", "query")
