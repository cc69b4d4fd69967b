"""django-axes, with a readable name in the console."""

from axes.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class LoginsConfig(AppConfig):
    verbose_name = _("Logins")
