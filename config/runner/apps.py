"""The tables that a runner uses. The server's own app configs also register workers, the console and the API."""

from django.apps import AppConfig


class WorkersTables(AppConfig):
    name = "kilit.workers"


class CuttingTables(AppConfig):
    name = "orchestrator"
