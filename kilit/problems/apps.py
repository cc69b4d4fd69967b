from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class ProblemsConfig(AppConfig):
    name = "kilit.problems"
    verbose_name = _("Operations")  # as in the side bar
