from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _

from kilit.lock.folding import register_words
from kilit.lock.prefixes import allow_operator_classes


class LockConfig(AppConfig):
    name = "kilit.lock"
    verbose_name = _("Operations")

    def ready(self) -> None:
        allow_operator_classes()
        register_words()
