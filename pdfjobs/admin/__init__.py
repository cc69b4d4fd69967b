"""The PDF queue in the console."""

from pdfjobs.admin.jobs import PdfJobAdmin

__all__ = ["PdfJobAdmin"]
