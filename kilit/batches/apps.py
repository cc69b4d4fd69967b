from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class BatchesConfig(AppConfig):
    name = "kilit.batches"
    label = "bulk"  # in names of tables, permissions and addresses
    verbose_name = _("Operations")  # as in the side bar
