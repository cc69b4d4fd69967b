from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class OciQueueConfig(AppConfig):
    name = "ociqueue"
    verbose_name = _("Offline conversions")
