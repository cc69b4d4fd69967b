"""Writes the XLSX files that OptiPlanning imports."""

from orchestrator.planning.excel.template import check_template
from orchestrator.planning.excel.writing import SheetFile, contents_of, sheets_of, write_files

__all__ = ["SheetFile", "check_template", "contents_of", "sheets_of", "write_files"]
