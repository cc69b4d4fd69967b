"""The PDF queue in the console: jobs with their file, their timeline and their actions."""

from pdfjobs.admin.jobs import PdfJobAdmin

__all__ = ["PdfJobAdmin"]
