from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class LockConfig(AppConfig):
    name = "kilit.lock"
    verbose_name = _("Operations")

    def ready(self) -> None:
        from kilit.lock.prefixes import allow_operator_classes  # noqa: PLC0415

        allow_operator_classes()
