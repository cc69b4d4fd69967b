"""The orchestrator app."""

from django.apps import AppConfig


class OrchestratorConfig(AppConfig):
    """Registers the queue with Django."""

    name = "orchestrator"
