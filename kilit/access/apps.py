from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class AccessConfig(AppConfig):
    name = "kilit.access"
    verbose_name = _("Operations")  # as in the side bar
