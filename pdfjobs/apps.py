"""The pdfjobs app."""

from django.apps import AppConfig


class PdfJobsConfig(AppConfig):
    """Registers the queue with Django."""

    name = "pdfjobs"
