"""The ociqueue app."""

from django.apps import AppConfig


class OciQueueConfig(AppConfig):
    """Registers the queue with Django."""

    name = "ociqueue"
