"""The top of the graph, as a Django app: it holds commands, checks and the API's manners."""

from django.apps import AppConfig


class KilitConfig(AppConfig):
    name = "config"

    def ready(self) -> None:
        from config import checks  # noqa: F401, PLC0415
