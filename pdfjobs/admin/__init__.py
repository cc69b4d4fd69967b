"""The PDF queue in the console."""

from pdfjobs.admin.jobs import PdfJobAdmin
from pdfjobs.admin.panel import PdfPanel

__all__ = ["PdfJobAdmin", "PdfPanel"]
