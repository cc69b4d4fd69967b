from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class PdfJobsConfig(AppConfig):
    name = "pdfjobs"
    verbose_name = _("PDF documents")
