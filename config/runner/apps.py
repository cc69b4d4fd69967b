"""The tables that a runner uses. The server's own app configs also register workers, the console and the API."""

from django.apps import AppConfig

TABLES = [
    "django.contrib.contenttypes",
    "django.contrib.auth",
    "pgtrigger",
    "kilit.lock",
    "config.runner.apps.WorkersTables",
    "config.runner.apps.CuttingTables",
]


class WorkersTables(AppConfig):
    name = "kilit.workers"


class CuttingTables(AppConfig):
    name = "orchestrator"
