from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class LockConfig(AppConfig):
    name = "kilit.lock"
    verbose_name = _("Operations")
