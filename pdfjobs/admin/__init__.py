"""The PDF queue in the console."""

from kilit.console.dashboard import panels
from pdfjobs.admin.jobs import PdfJobAdmin
from pdfjobs.admin.panel import PdfPanel

panels.register_panel(PdfPanel())

__all__ = ["PdfJobAdmin", "PdfPanel"]
