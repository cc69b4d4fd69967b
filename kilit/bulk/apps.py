from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class BulkConfig(AppConfig):
    name = "kilit.bulk"
    verbose_name = _("Operations")  # as in the side bar
