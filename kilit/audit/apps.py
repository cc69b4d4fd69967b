from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class AuditConfig(AppConfig):
    name = "kilit.audit"
    verbose_name = _("Operations")  # as in the side bar
