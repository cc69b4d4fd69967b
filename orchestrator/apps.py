from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class OrchestratorConfig(AppConfig):
    name = "orchestrator"
    verbose_name = _("Panel cutting")
