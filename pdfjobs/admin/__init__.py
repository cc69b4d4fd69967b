"""The PDF queue in the console: jobs with their file, their timeline and their actions."""

from pdfjobs.admin import labels  # noqa: F401
from pdfjobs.admin.jobs import PdfJobAdmin
from pdfjobs.admin.panel import PdfPanel

__all__ = ["PdfJobAdmin", "PdfPanel"]
